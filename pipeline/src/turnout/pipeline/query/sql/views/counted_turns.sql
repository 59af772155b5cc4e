-- Every turn once, with the columns that metrics group by.
--   counted_at  when the turn counts from: its start, else its first receipt
--   over_at     when it was over: its end, else its last sign of life
--   unpriced    1 where it used tokens and has no price
--   n           how many turns the row stands for
select
    *,
    coalesce(started_at, received_at) as counted_at,
    coalesce(ended_at, last_seen_at, started_at, received_at) as over_at,
    date_trunc('hour', coalesce(started_at, received_at)) as hour,
    cast(coalesce(started_at, received_at) as date) as day,
    last_tool as tool,
    last_step as step,
    last_max_output_tokens as cap,
    steps > 0 as has_steps,
    last_raw_finish_reason is not null or last_finish_reason is not null as has_finish_reason,
    cast(cost_usd is not null as bigint) as priced,
    cast(cost_usd is null and input_tokens is not null as bigint) as unpriced,
    'all' as everything,
    1 as n
from turns
