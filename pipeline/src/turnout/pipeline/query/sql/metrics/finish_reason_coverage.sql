-- Turns whose last step has its finish reason recorded, of the turns with a step.
select
    columns(lambda name: name in $by),
    count(*) filter (last_raw_finish_reason is not null or last_finish_reason is not null) as numerator,
    count(*) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_turns
where steps > 0
group by all
order by all
