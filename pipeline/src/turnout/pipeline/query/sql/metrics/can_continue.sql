-- Abnormal turns that a person can continue, of the abnormal turns.
select
    columns(lambda name: name in $by),
    counted_if(can_continue, n) as numerator,
    counted(n) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_turns
where abnormal
group by all
order by all
