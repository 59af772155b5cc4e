-- Output tokens against the cap: model calls that used all of it, of the calls with cap and usage recorded.
select
    columns(lambda name: name in $by),
    count(*) filter (output_tokens >= max_output_tokens) as numerator,
    count(*) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_steps
where max_output_tokens > 0 and output_tokens is not null
group by all
order by all
