-- How many turns ended in each way, by the steps that they had been charged; the same as `ends.sql` for the limit `steps`.
-- `cut` is the only end that says nothing of how the turn would have ended. `spent` is null where it was not recorded.
select
    cast(steps_charged as double) as spent,
    case
        when outcome = 'budget' and budget_kind = 'steps' then 'cut'
        when outcome in ('completed', 'yielded') then 'finished'
        when outcome in ('refused', 'error', 'stopped', 'interrupted') then outcome
        else 'other'
    end as ended,
    counted(n) as turns,
    cast(max(limit_steps) as double) as largest_budget
from counted_turns
group by all
order by all
