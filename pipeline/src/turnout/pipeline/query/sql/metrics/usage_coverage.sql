-- Turns in which every model call reports its tokens, of the turns with a step.
select
    columns(lambda name: name in $by),
    counted_if(usage_complete, n) as numerator,
    counted(n) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_turns
where has_steps
group by all
order by all
