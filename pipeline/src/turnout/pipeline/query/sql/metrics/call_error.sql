-- Model calls that failed, of all model calls.
select
    columns(lambda name: name in $by),
    counted_if(has_error, n) as numerator,
    counted(n) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_steps
group by all
order by all
