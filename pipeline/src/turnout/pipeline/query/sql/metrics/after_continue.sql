-- How continuations end: the share of each outcome among the turns that continue one of the counted turns, by how that one had ended.
with continuations as materialized (
    select
        columns(lambda name: name in $by),
        outcome,
        continues_turn_id
    from counted_turns
    where continues_turn_id is not null
),

continued as (
    select turn_id, outcome as continued_outcome
    from counted_turns
    where turn_id in (select continues_turn_id from continuations)
),

counted as (
    select
        columns(continuations.* exclude (continues_turn_id)),
        continued_outcome,
        count(*) as numerator
    from continuations
    inner join continued on continuations.continues_turn_id = continued.turn_id
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
