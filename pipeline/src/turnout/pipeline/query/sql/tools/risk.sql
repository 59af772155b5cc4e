-- For each tool the turns that called it and the abnormal ones among them, beside all turns.
with everyone as (
    select count(*) as turns, count(*) filter (abnormal) as abnormal_turns
    from counted_turns
)
select
    used.tool as tool,
    count(*) as turns_with,
    count(*) filter (abnormal) as abnormal_with,
    any_value(everyone.turns) as turns,
    any_value(everyone.abnormal_turns) as abnormal_turns
from counted_turns, unnest(list_distinct(tools)) as used(tool), everyone
group by used.tool
order by used.tool
