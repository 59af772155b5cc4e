-- Every step of a turn that was charged (it has a finish reason), attempts taken together, with its place among these and what it took.
-- Its time runs to the next of them, or to its own end.
--   n  how many steps the row stands for
with charged as (
    select
        turn_id,
        step,
        any_value(turn_started_at) as counted_at,
        any_value(environment) as environment,
        any_value(agent) as agent,
        any_value(attended) as attended,
        any_value(outcome) as outcome,
        min(started_at) as started_at,
        max(ended_at) as ended_at,
        cast(sum(input_tokens + output_tokens) as bigint) as tokens,
        sum(cost_usd) as cost_usd
    from steps
    where coalesce(finish_reason, raw_finish_reason) is not null
    group by turn_id, step
),

timed as (
    select
        *,
        row_number() over in_turn as position,
        epoch(coalesce(lead(started_at) over in_turn, ended_at) - started_at) as seconds
    from charged
    window in_turn as (partition by turn_id order by step)
)

select
    *,
    date_trunc('hour', counted_at) as hour,
    cast(counted_at as date) as day,
    ended_at as over_at,
    cast(tokens is not null as bigint) as tokens_known,
    cast(cost_usd is not null as bigint) as cost_usd_known,
    cast(seconds is not null as bigint) as seconds_known,
    'all' as everything,
    1 as n
from timed
