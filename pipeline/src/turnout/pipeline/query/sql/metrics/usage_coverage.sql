-- Turns in which every model call reports its tokens, of the turns with a step.
select
    columns(lambda name: name in $by),
    count(*) filter (usage_complete) as numerator,
    count(*) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_turns
where steps > 0
group by all
order by all
