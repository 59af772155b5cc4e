-- Turns that their step limit cut, of the turns with a step limit.
select
    columns(lambda name: name in $by),
    counted_if(budget_kind = 'steps', n) as numerator,
    counted(n) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_turns
where limit_steps is not null
group by all
order by all
