-- How model calls ended, as the provider and the runtime spell it: the share of each value among the calls of its group.
with counted as (
    select
        columns(lambda name: name in $by),
        provider,
        raw_finish_reason,
        finish_reason,
        counted(n) as numerator
    from counted_steps
    group by all
)
select
    *,
    cast(sum(numerator) over (partition by row(*columns(* exclude (provider, raw_finish_reason, finish_reason, numerator)))) as bigint) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted
order by all
