-- Tool calls that were denied, of the settled calls.
select
    columns(lambda name: name in $by),
    counted_if(status = 'denied', n) as numerator,
    counted(n) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_tool_calls
where status in ('ok', 'error', 'denied')
group by all
order by all
