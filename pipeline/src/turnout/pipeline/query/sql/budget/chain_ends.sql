-- What chains of continued turns change of how turns end: a turn that did not complete and every turn that continues it are one chain.
--   $limit   steps, tool_calls, step_output_tokens, total_tokens, seconds or cost_usd
--   $kind    the budget kind of that limit in a verdict: steps, tool_calls, tokens, time or cost
--   $digits  amounts are rounded up to so many significant digits, 0 for none: of very many turns few are the same to the last digit
-- A row with `turns` above zero is a chain, by what its turns spent together (of output tokens a step the largest), one below zero the turns
-- of a chain as `ends.sql` counts each by itself. A chain whose last turn the limit cut is cut; one with a turn that does not say what it
-- spent is left out, and so are turns that continue one which is not known.
with recursive measured as (
    select
        turn_id,
        segment_of,
        continues_turn_id,
        outcome,
        budget_kind,
        step_cut,
        cast(
        case $limit
                when 'steps' then steps_charged
                when 'tool_calls' then tool_calls
                when 'step_output_tokens' then step_output_tokens
                when 'total_tokens' then input_tokens + output_tokens
                when 'seconds' then duration_s
                when 'cost_usd' then cost_usd
            end as double
        ) as amount
    from all_links
),

names as (
    select turn_id as id, turn_id
    from measured
    union all
    select segment_of as id, turn_id
    from measured
    where segment_of is not null
),

edges as materialized (
    select names.turn_id, measured.turn_id as next_id
    from measured
    inner join names on measured.continues_turn_id = names.id
),

links as (
    select turn_id, turn_id as first_id, 0 as depth
    from counted_links
    where continues_turn_id is null and turn_id in (select turn_id from edges)
    union all
    select edges.next_id as turn_id, links.first_id, links.depth + 1 as depth
    from links
    inner join edges on links.turn_id = edges.turn_id
    where links.depth < 100
),

chains as (
    select
        l.first_id,
        case when $limit = 'step_output_tokens' then max(t.amount) else sum(t.amount) end as amount,
        count(*) = count(t.amount) as known,
        arg_max(t.outcome, l.depth) as outcome,
        arg_max(t.budget_kind, l.depth) as budget_kind,
        arg_max(t.step_cut, l.depth) as step_cut
    from links as l
    inner join measured as t on t.turn_id = l.turn_id
    group by l.first_id
),

changes as (
    select amount, outcome, budget_kind, step_cut, 1 as one
    from chains
    where known
    union all
    select
        cast(
        case $limit
                when 'steps' then steps_charged
                when 'tool_calls' then tool_calls
                when 'step_output_tokens' then step_output_tokens
                when 'total_tokens' then input_tokens + output_tokens
                when 'seconds' then duration_s
                when 'cost_usd' then cost_usd
            end as double
        ) as amount,
        outcome,
        budget_kind,
        step_cut,
        -1 as one
    from counted_links
    where
        amount is not null
        and (continues_turn_id is not null or turn_id in (select turn_id from edges))
)

select
    rounded_up(amount, $digits) as spent,
    case
        when (outcome = 'budget' and budget_kind = $kind) or ($limit = 'step_output_tokens' and step_cut) then 'cut'
        when outcome in ('completed', 'yielded') then 'finished'
        when outcome in ('refused', 'error', 'stopped', 'interrupted') then outcome
        else 'other'
    end as ended,
    one > 0 as chained,
    cast(sum(one) as bigint) as turns
from changes
group by all
order by all
