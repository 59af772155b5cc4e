-- What became of refused model calls: answered by a later call of the turn, else by a later turn of the conversation that finished; by the
-- model that had refused, or by another one.
with refused_calls as (
    select turn_id, step, position, model, is_last
    from counted_steps
    where refused
),

later_calls as (
    select
        r.turn_id,
        r.step,
        r.position,
        arg_min(s.model is not distinct from r.model, (s.step, s.position)) as same_model
    from refused_calls as r
    inner join steps as s on s.turn_id = r.turn_id
    where not r.is_last and (s.step, s.position) > (r.step, r.position) and not s.refused and coalesce(s.finish_reason, s.raw_finish_reason) is not null
    group by r.turn_id, r.step, r.position
),

refused_turns as (
    select turn_id, conversation_id, counted_at
    from counted_links
    where turn_id in (select turn_id from refused_calls) and conversation_id is not null
),

later_turns as (
    select
        r.turn_id,
        arg_min(t.model, t.started_at) as model
    from refused_turns as r
    inner join turns as t on t.conversation_id = r.conversation_id
    where t.started_at > r.counted_at and t.outcome in ('completed', 'yielded')
    group by r.turn_id
),

told as (
    select
        case
            when c.same_model then 'same turn, same model'
            when not c.same_model then 'same turn, another model'
            when t.turn_id is null then 'not answered'
            when t.model is not distinct from r.model then 'later turn, same model'
            else 'later turn, another model'
        end as answered
    from refused_calls as r
    left join later_calls as c on r.turn_id = c.turn_id and r.step is not distinct from c.step and r.position = c.position
    left join later_turns as t on r.turn_id = t.turn_id
)

select
    answered,
    count(*) as numerator,
    cast(sum(count(*)) over () as bigint) as denominator,
    numerator / denominator as rate,
    wilson_low(numerator, denominator) as low,
    wilson_high(numerator, denominator) as high
from told
group by answered
order by numerator desc, answered
