-- What is worth knowing beside the outcome: turns with each flag, of the turns of the group. A turn counts once for each of its flags.
with counted as (
    select
        columns(lambda name: name in $by),
        flags,
        counted(n) as turns
    from counted_turns
    group by all
),

raised as (
    select distinct unnest(flags) as flag
    from counted
)

select
    columns(counted.* exclude (flags, turns)),
    flag,
    cast(coalesce(sum(turns) filter (list_contains(flags, flag)), 0) as bigint) as numerator,
    cast(sum(turns) as bigint) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted
cross join raised
group by all
order by all
