-- How turns ended: the share of each outcome among the turns of its group.
with counted as (
    select
        columns(lambda name: name in $by),
        outcome,
        counted(n) as numerator
    from counted_turns
    group by all
)
select
    *,
    cast(sum(numerator) over (partition by row(*columns(* exclude (outcome, numerator)))) as bigint) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted
order by all
