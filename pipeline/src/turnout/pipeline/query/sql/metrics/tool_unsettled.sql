-- Tool calls whose end nobody saw, of the calls with a recorded status.
select
    columns(lambda name: name in $by),
    counted_if(status in ('streaming', 'running', 'approved', 'unknown'), n) as numerator,
    counted(n) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_tool_calls
where status is not null
group by all
order by all
