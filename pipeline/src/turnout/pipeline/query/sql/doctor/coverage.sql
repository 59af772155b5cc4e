-- What each source records: turns with a finish reason, with an outcome, with all tokens, with a step limit.
select
    source,
    count(*) as turns,
    max(updated_at) as last_received,
    max(over_at) as last_ended,
    count(*) filter (steps > 0) as with_steps,
    count(*) filter (steps > 0 and (last_raw_finish_reason is not null or last_finish_reason is not null)) as with_finish_reason,
    count(*) filter (outcome = 'unknown') as outcome_unknown,
    count(*) filter (steps > 0 and usage_complete) as with_all_tokens,
    count(*) filter (limit_steps is not null) as with_step_limit,
    count(*) filter (attended is null) as attendance_unknown
from counted_turns
group by source
order by turns desc, source
