-- How chains of continued turns ended, by the steps that they spent together: a turn and every turn that continues it are one chain.
-- A chain whose last turn its step limit cut is cut; one with a turn whose steps were not recorded is left out.
with recursive links as (
    select t.turn_id, t.turn_id as first_id, 0 as depth
    from counted_turns as t
    where t.continues_turn_id is null
    union all
    select n.turn_id, l.first_id, l.depth + 1
    from turns as n
    inner join links as l on n.continues_turn_id = l.turn_id
    where l.depth < 100
),
chains as (
    select
        l.first_id,
        sum(t.steps_charged) as spent,
        count(*) = count(t.steps_charged) as known,
        arg_max(t.outcome, l.depth) as outcome,
        arg_max(t.budget_kind, l.depth) as budget_kind
    from links as l
    inner join turns as t on t.turn_id = l.turn_id
    group by l.first_id
)
select
    cast(spent as double) as spent,
    case
        when outcome = 'budget' and budget_kind = 'steps' then 'cut'
        when outcome in ('completed', 'yielded') then 'finished'
        when outcome in ('refused', 'error', 'stopped', 'interrupted') then outcome
        else 'other'
    end as ended,
    count(*) as turns
from chains
where known
group by all
order by all
