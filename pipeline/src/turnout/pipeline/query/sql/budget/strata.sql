-- Turns by steps charged, end, step limit and one dimension, for curves by stratum and the test of the censoring assumption.
--   $by  the name of one column
select
    cast(columns(lambda name: name in $by) as varchar) as stratum,
    cast(limit_steps as double) as recorded_limit,
    cast(steps_charged as double) as spent,
    case
        when outcome = 'budget' and budget_kind = 'steps' then 'cut'
        when outcome in ('completed', 'yielded') then 'finished'
        when outcome in ('refused', 'error', 'stopped', 'interrupted') then outcome
        else 'other'
    end as ended,
    counted(n) as turns
from counted_turns
where steps_charged is not null
group by all
order by all
