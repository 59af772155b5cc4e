-- What is behind abnormal ends: the share of each outcome and cause among the abnormal turns of its group.
with counted as (
    select
        columns(lambda name: name in $by),
        outcome,
        cause,
        counted(n) as numerator
    from counted_turns
    where abnormal
    group by all
)
select
    *,
    cast(sum(numerator) over (partition by row(*columns(* exclude (outcome, cause, numerator)))) as bigint) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted
order by all
