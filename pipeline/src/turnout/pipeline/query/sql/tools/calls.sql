-- Calls of each tool: how they ended, and how long the settled ones took.
select
    tool,
    count(*) as calls,
    count(*) filter (status = 'ok') as ok,
    count(*) filter (status = 'error') as errors,
    count(*) filter (status = 'denied') as denied,
    count(*) filter (status is null or status not in ('ok', 'error', 'denied')) as unsettled,
    count(duration_s) as timed,
    quantile_disc(duration_s, 0.5) as p50_s,
    quantile_disc(duration_s, 0.9) as p90_s,
    quantile_disc(duration_s, 0.99) as p99_s
from counted_tool_calls
group by tool
order by calls desc, tool
