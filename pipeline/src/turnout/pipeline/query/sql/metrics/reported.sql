-- Turns whose outcome a layer reported itself, of all turns; the others are derived from facts or inferred.
select
    columns(lambda name: name in $by),
    counted_if(evidence = 'reported', n) as numerator,
    counted(n) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_turns
group by all
order by all
