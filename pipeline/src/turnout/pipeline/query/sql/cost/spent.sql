-- What turns cost, and what of it went into turns that finished. A turn without a price is counted and never taken for free.
--   $by  names of columns
select
    columns(lambda name: name in $by),
    counted(n) as turns,
    cast(coalesce(sum(priced), 0) as bigint) as priced,
    cast(coalesce(sum(unpriced), 0) as bigint) as unpriced,
    counted_if(outcome in ('completed', 'yielded'), n) as finished,
    sum(cost_usd) as cost_usd,
    sum(cost_usd) filter (outcome in ('completed', 'yielded')) as finished_cost_usd,
    cast(sum(input_tokens) as bigint) as input_tokens,
    cast(sum(cache_read_tokens) as bigint) as cache_read_tokens,
    cast(sum(output_tokens) as bigint) as output_tokens
from counted_turns
group by all
