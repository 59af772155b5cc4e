-- Refused turns of a conversation in which an earlier one of the counted turns had already been refused, of the refused turns with a
-- recorded conversation.
with refusals as (
    select conversation_id, min(counted_at) as first_refused
    from counted_turns
    where outcome = 'refused' and conversation_id is not null
    group by conversation_id
)

select
    columns(lambda name: name in $by),
    count(*) filter (counted_turns.counted_at > refusals.first_refused) as numerator,
    count(*) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_turns
inner join refusals on counted_turns.conversation_id = refusals.conversation_id
where counted_turns.outcome = 'refused'
group by all
order by all
