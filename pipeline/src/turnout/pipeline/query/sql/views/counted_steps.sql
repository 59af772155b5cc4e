-- Every model call, with the columns that metrics group by.
--   used_from  how much of its cap of output tokens it used, in twentieths, rounded down; 1 for all of it
--   n          how many model calls the row stands for
select
    *,
    turn_started_at as counted_at,
    coalesce(ended_at, started_at, turn_started_at) as over_at,
    date_trunc('hour', turn_started_at) as hour,
    cast(turn_started_at as date) as day,
    max_output_tokens as cap,
    error_type is not null or error_status is not null as has_error,
    case
        when max_output_tokens > 0 then least(1.0, floor(20 * output_tokens / max_output_tokens) / 20)
    end as used_from,
    'all' as everything,
    1 as n
from steps
