-- How continuations end: the share of each outcome among the turns that continue one of the counted turns, by how that had ended.
-- What is continued is named by the turn or by its root; a turn that had completed is continued by nothing.
with continuations as (
    select
        columns(lambda name: name in $by),
        outcome,
        continues_turn_id
    from all_links
    where continues_turn_id is not null
),

named as (
    select turn_id as id, outcome as continued_outcome
    from counted_links
    where outcome != 'completed'
    union all
    select segment_of as id, outcome as continued_outcome
    from counted_links
    where outcome != 'completed' and segment_of is not null
),

counted as (
    select
        columns(continuations.* exclude (continues_turn_id)),
        continued_outcome,
        count(*) as numerator
    from continuations
    inner join named on continuations.continues_turn_id = named.id
    group by all
)

select
    *,
    cast(sum(numerator) over (partition by row(*columns(* exclude (outcome, numerator)))) as bigint) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from counted
order by all
