-- The same tool called with the same arguments several times in a row: turns with such a run of at least $length calls.
-- Calls whose arguments have no digest are left out, since nothing says that they were the same.
with ordered as (
    select
        turn_id,
        tool,
        arguments_digest,
        row_number() over (partition by turn_id order by step, position)
        - row_number() over (partition by turn_id, tool, arguments_digest order by step, position) as run
    from counted_tool_calls
    where arguments_digest is not null
),
runs as (
    select turn_id, tool, count(*) as calls
    from ordered
    group by turn_id, tool, arguments_digest, run
    having count(*) >= $length
)
select
    runs.tool,
    count(distinct runs.turn_id) as turns,
    count(distinct runs.turn_id) filter (t.abnormal) as abnormal_turns,
    max(runs.calls) as longest
from runs
inner join turn_segments as t on t.turn_id = runs.turn_id
group by runs.tool
order by turns desc, runs.tool
