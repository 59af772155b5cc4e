-- Refused turns of a conversation in which an earlier one of the counted turns had already been refused, of the refused turns with a
-- recorded conversation.
with refusals as (
    select
        columns(lambda name: name in $by),
        counted_at as refused_at,
        min(counted_at) over (partition by conversation_id) as first_refused_at
    from counted_links
    where outcome = 'refused' and conversation_id is not null
)

select
    columns(* exclude (refused_at, first_refused_at)),
    count(*) filter (refused_at > first_refused_at) as numerator,
    count(*) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from refusals
group by all
order by all
