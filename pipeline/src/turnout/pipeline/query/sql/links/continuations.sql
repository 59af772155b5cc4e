-- For each way that a turn did not complete: how many there were, how many were continued, how long after, and how that ended.
-- A turn that was continued more than once counts by its first continuation; what is continued is named by the turn or by its root.
with continuing as (
    select continues_turn_id as id, counted_at, outcome
    from all_links
    where continues_turn_id is not null
),

named as (
    select turn_id as id, turn_id, outcome, over_at
    from counted_links
    where outcome != 'completed'
    union all
    select segment_of as id, turn_id, outcome, over_at
    from counted_links
    where outcome != 'completed' and segment_of is not null
),

firsts as (
    select
        named.turn_id,
        min(continuing.counted_at) as continued_at,
        arg_min(continuing.outcome, continuing.counted_at) as then_outcome
    from continuing
    inner join named on continuing.id = named.id
    group by named.turn_id
),

turns_of as (
    select
        counted_links.outcome,
        firsts.then_outcome,
        cast(epoch(firsts.continued_at - counted_links.over_at) as double) as seconds
    from counted_links
    left join firsts on counted_links.turn_id = firsts.turn_id
    where counted_links.outcome != 'completed'
)

select
    outcome,
    count(*) as turns,
    count(then_outcome) as continued,
    count(then_outcome) / count(*) as rate,
    wilson_low(count(then_outcome), count(*)) as low,
    wilson_high(count(then_outcome), count(*)) as high,
    quantile_disc(seconds, 0.5) as p50_s,
    quantile_disc(seconds, 0.9) as p90_s,
    quantile_disc(seconds, 0.99) as p99_s,
    count(*) filter (then_outcome in ('completed', 'yielded')) as then_finished,
    count(*) filter (then_outcome in ('budget', 'length', 'context_overflow')) as then_cut,
    count(*) filter (then_outcome = 'refused') as then_refused,
    count(*) filter (then_outcome in ('error', 'interrupted')) as then_failed,
    count(*) filter (then_outcome in ('stopped', 'unknown')) as then_other
from turns_of
group by outcome
order by turns desc, outcome
