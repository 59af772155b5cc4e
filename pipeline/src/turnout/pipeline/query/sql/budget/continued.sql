-- How many turns that a budget cut were continued in a turn of their own, and how many of those finished.
--   $kind  the budget kind: steps, tool_calls, tokens, time or cost
with cut as (
    select turn_id, root_turn_id
    from counted_turns
    where outcome = 'budget' and budget_kind = $kind
),
continuations as (
    select continues_turn_id, bool_or(outcome in ('completed', 'yielded')) as finished
    from turns
    where continues_turn_id is not null
    group by continues_turn_id
)
select
    count(*) as cut,
    count(*) filter (c.continues_turn_id is not null) as continued,
    count(*) filter (c.finished) as finished
from cut
left join continuations as c on c.continues_turn_id in (cut.turn_id, cut.root_turn_id)
