-- Tool calls that were cut off while they were being written (their arguments are not whole), of all tool calls.
select
    columns(lambda name: name in $by),
    counted_if(status = 'streaming' or not arguments_valid, n) as numerator,
    counted(n) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_tool_calls
group by all
order by all
