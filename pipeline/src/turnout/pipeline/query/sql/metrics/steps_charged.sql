-- Steps against the limit: how many steps turns spent, as a share of the turns under the same step limit.
-- Turns whose steps were not recorded are left out; a limit that was not recorded is a group of its own.
with counted as (
    select
        columns(lambda name: name in $by),
        limit_steps,
        steps_charged,
        counted(n) as numerator
    from counted_turns
    where steps_charged is not null
    group by all
)
select
    *,
    cast(
        sum(numerator) over (partition by row(*columns(* exclude (steps_charged, numerator)))) as bigint
    ) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted
order by all
