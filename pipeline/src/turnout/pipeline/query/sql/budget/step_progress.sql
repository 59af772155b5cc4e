-- What the steps that turns were charged for took, by their place in the turn; the same as `progress.sql` for the limit `steps`.
select
    position,
    counted(n) as steps,
    cast(sum(tokens_known) as bigint) as steps_with_tokens,
    sum(tokens) as tokens,
    cast(sum(cost_usd_known) as bigint) as steps_with_cost,
    sum(cost_usd) as cost_usd,
    cast(sum(seconds_known) as bigint) as steps_with_seconds,
    sum(seconds) as seconds
from counted_progress
group by position
order by position
