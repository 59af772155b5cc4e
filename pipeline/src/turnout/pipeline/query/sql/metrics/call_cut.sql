-- Model calls cut off by the output-token cap, of the calls with a finish reason.
select
    columns(lambda name: name in $by),
    counted_if(finish_class = 'length', n) as numerator,
    counted(n) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_steps
where finish_class is not null
group by all
order by all
