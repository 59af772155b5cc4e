-- Turns that ended abnormally, of the turns that called the tool at all; a turn counts once for each of its tools.
select
    columns(lambda name: name in $by and name != 'tool'),
    tool,
    counted_if(abnormal, n) as numerator,
    counted(n) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_tools_used
group by all
order by all
