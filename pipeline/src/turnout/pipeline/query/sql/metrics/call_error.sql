-- Model calls that failed, of all model calls.
select
    columns(lambda name: name in $by),
    count(*) filter (error_type is not null or error_status is not null) as numerator,
    count(*) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_steps
group by all
order by all
