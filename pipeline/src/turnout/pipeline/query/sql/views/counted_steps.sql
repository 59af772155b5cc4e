-- Every model call, with the columns that metrics group by.
select
    *,
    turn_started_at as counted_at,
    coalesce(ended_at, started_at, turn_started_at) as over_at,
    date_trunc('hour', turn_started_at) as hour,
    cast(turn_started_at as date) as day,
    max_output_tokens as cap,
    'all' as everything
from steps
