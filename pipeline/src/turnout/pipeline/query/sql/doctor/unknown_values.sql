-- Finish reasons that no vocabulary lists, as the provider or the runtime spelled them.
select
    source,
    provider,
    coalesce(raw_finish_reason, finish_reason) as value,
    count(*) as model_calls
from steps
where finish_class = 'unknown'
group by all
order by model_calls desc, source, provider, value
limit 50
