-- Refused model calls after which the turn went on, of the refused calls.
select
    columns(lambda name: name in $by),
    counted_if(not is_last, n) as numerator,
    counted(n) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_steps
where refused
group by all
order by all
