-- How many turns ended in each way, by the largest output of their model calls; the same as `ends.sql` for the limit `step_output_tokens`.
--   $digits  amounts are rounded up to so many significant digits, 0 for none
-- `cut` is the only end that says nothing of how the turn would have ended. `spent` is null where it was not recorded.
select
    rounded_up(step_output_tokens, $digits) as spent,
    case
        when step_cut then 'cut'
        when outcome in ('completed', 'yielded') then 'finished'
        when outcome in ('refused', 'error', 'stopped', 'interrupted') then outcome
        else 'other'
    end as ended,
    counted(n) as turns,
    cast(max(step_output_cap) as double) as largest_budget
from counted_turns
group by all
order by all
