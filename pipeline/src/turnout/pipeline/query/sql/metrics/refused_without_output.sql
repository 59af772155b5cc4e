-- Refused turns in which a person saw nothing at all, of the refused turns.
select
    columns(lambda name: name in $by),
    counted_if(list_contains(flags, 'zero_output'), n) as numerator,
    counted(n) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_turns
where outcome = 'refused'
group by all
order by all
