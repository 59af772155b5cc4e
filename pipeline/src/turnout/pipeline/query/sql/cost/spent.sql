-- What turns cost, and what of it went into turns that finished. A turn without a price is counted and never taken for free.
--   $by  names of columns
select
    columns(lambda name: name in $by),
    count(*) as turns,
    count(cost_usd) as priced,
    count(*) filter (cost_usd is null and input_tokens is not null) as unpriced,
    count(*) filter (outcome in ('completed', 'yielded')) as finished,
    sum(cost_usd) as cost_usd,
    sum(cost_usd) filter (outcome in ('completed', 'yielded')) as finished_cost_usd,
    sum(input_tokens) as input_tokens,
    sum(cache_read_tokens) as cache_read_tokens,
    sum(output_tokens) as output_tokens
from counted_turns
group by all
