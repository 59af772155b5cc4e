-- Abnormal turns that a later turn says it continues, of the abnormal turns. What is continued is named by the turn or by its root.
with continuations as (
    select distinct continues_turn_id as id
    from all_links
    where continues_turn_id is not null
)

select
    columns(lambda name: name in $by),
    count(*) filter (by_turn.id is not null or by_root.id is not null) as numerator,
    count(*) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted_links
left join continuations as by_turn on counted_links.turn_id = by_turn.id
left join continuations as by_root on counted_links.segment_of = by_root.id
where abnormal
group by all
order by all
