-- Output tokens against the cap: model calls that used all of it, of the calls with cap and usage recorded.
select
    columns(lambda name: name in $by),
    counted_if(used_from = 1, n) as numerator,
    counted(n) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_steps
where used_from is not null
group by all
order by all
