-- What was refused: the share of each category among the refused model calls of its group.
with counted as (
    select
        columns(lambda name: name in $by),
        refusal_category,
        counted(n) as numerator
    from counted_steps
    where refused
    group by all
)
select
    *,
    cast(sum(numerator) over (partition by row(*columns(* exclude (refusal_category, numerator)))) as bigint) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted
order by all
