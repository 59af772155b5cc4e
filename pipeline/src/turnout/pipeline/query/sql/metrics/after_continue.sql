-- How continuations end: the share of each outcome among the turns that continue one of the counted turns, by how that one had ended.
with earlier as (
    select turn_id as continued_id, outcome as continued_outcome
    from counted_turns
),

counted as (
    select
        columns(lambda name: name in $by),
        continued_outcome,
        outcome,
        count(*) as numerator
    from counted_turns
    inner join earlier on counted_turns.continues_turn_id = earlier.continued_id
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
