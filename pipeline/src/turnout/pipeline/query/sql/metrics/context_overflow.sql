-- Turns whose conversation no longer fitted the context window, of all turns.
select
    columns(lambda name: name in $by),
    counted_if(outcome = 'context_overflow', n) as numerator,
    counted(n) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_turns
group by all
order by all
