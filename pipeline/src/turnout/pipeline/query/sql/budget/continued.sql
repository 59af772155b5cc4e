-- How many turns that a limit cut were continued in a turn of their own, and how many of those finished.
--   $kind  the budget kind: steps, tool_calls, tokens, time or cost; or length for turns whose answer was cut off
with cut as (
    select turn_id, segment_of
    from counted_links
    where (outcome = 'budget' and budget_kind = $kind) or outcome = $kind
),

continuations as (
    select continues_turn_id as id, bool_or(outcome in ('completed', 'yielded')) as finished
    from all_links
    where continues_turn_id is not null
    group by continues_turn_id
)

select
    count(*) as cut,
    count(*) filter (by_turn.id is not null or by_root.id is not null) as continued,
    count(*) filter (by_turn.finished or by_root.finished) as finished
from cut
left join continuations as by_turn on cut.turn_id = by_turn.id
left join continuations as by_root on cut.segment_of = by_root.id
