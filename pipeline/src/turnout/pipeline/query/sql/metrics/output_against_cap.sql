-- Output tokens against the cap: how much of it model calls used, in twentieths, as a share of the calls under the same cap.
-- Calls without a recorded cap or usage are left out; the last bin, from 1 on, holds the calls that used all of it.
with counted as (
    select
        columns(lambda name: name in $by),
        max_output_tokens,
        used_from,
        counted(n) as numerator
    from counted_steps
    where used_from is not null
    group by all
)
select
    *,
    cast(
        sum(numerator) over (partition by row(*columns(* exclude (used_from, numerator)))) as bigint
    ) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted
order by all
