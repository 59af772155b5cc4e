-- Turns by what they spent of one kind of budget, end, limit and one dimension; the same as `strata.sql` for the limit `steps`.
--   $limit   steps, tool_calls, step_output_tokens, total_tokens, seconds or cost_usd
--   $kind    the budget kind of that limit in a verdict: steps, tool_calls, tokens, time or cost
--   $digits  amounts are rounded up to so many significant digits, 0 for none: of very many turns few are the same to the last digit
--   $by      the name of one column
select
    cast(columns(lambda name: name in $by) as varchar) as stratum,
    cast(
        case $limit
            when 'steps' then limit_steps
            when 'tool_calls' then limit_tool_calls
            when 'step_output_tokens' then step_output_cap
            when 'total_tokens' then limit_total_tokens
            when 'seconds' then limit_seconds
            when 'cost_usd' then limit_cost_usd
        end as double
    ) as recorded_limit,
    rounded_up(
        case $limit
            when 'steps' then steps_charged
            when 'tool_calls' then tool_calls
            when 'step_output_tokens' then step_output_tokens
            when 'total_tokens' then input_tokens + output_tokens
            when 'seconds' then duration_s
            when 'cost_usd' then cost_usd
        end,
        $digits
    ) as spent,
    case
        when (outcome = 'budget' and budget_kind = $kind) or ($limit = 'step_output_tokens' and step_cut) then 'cut'
        when outcome in ('completed', 'yielded') then 'finished'
        when outcome in ('refused', 'error', 'stopped', 'interrupted') then outcome
        else 'other'
    end as ended,
    counted(n) as turns
from counted_turns
where spent is not null
group by all
order by all
