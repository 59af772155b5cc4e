-- Every tool call, with the columns that metrics group by.
--   n  how many tool calls the row stands for
select
    *,
    turn_started_at as counted_at,
    coalesce(ended_at, started_at, turn_started_at) as over_at,
    date_trunc('hour', turn_started_at) as hour,
    cast(turn_started_at as date) as day,
    'all' as everything,
    1 as n
from tool_calls
