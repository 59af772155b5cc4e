-- What turns spent on the way, summed over the pieces between the edges of one kind of budget.
--   $limit  steps, tool_calls, step_output_tokens, total_tokens, seconds or cost_usd
--   $edges  ascending; piece i holds the steps by whose end a turn had spent more than edge i - 1 and at most edge i
-- A step is charged when it has a finish reason; its time runs to the next of them, or to its own end.
with turns_counted as (
    select turn_id
    from counted_turns
),
charged as (
    select
        s.turn_id,
        s.step,
        min(s.started_at) as started_at,
        max(s.ended_at) as ended_at,
        max(s.output_tokens) as output_tokens,
        sum(s.tool_calls) as tool_calls,
        sum(s.input_tokens + s.output_tokens) as tokens,
        sum(s.cost_usd) as cost_usd
    from steps as s
    inner join turns_counted as t on t.turn_id = s.turn_id
    where coalesce(s.finish_reason, s.raw_finish_reason) is not null
    group by s.turn_id, s.step
),
timed as (
    select
        *,
        row_number() over in_turn as position,
        epoch(coalesce(lead(started_at) over in_turn, ended_at) - started_at) as seconds
    from charged
    window in_turn as (partition by turn_id order by step)
),
reached as (
    select
        *,
        cast(
            case $limit
                when 'steps' then position
                when 'tool_calls' then sum(tool_calls) over so_far
                when 'step_output_tokens' then max(output_tokens) over so_far
                when 'total_tokens' then sum(tokens) over so_far
                when 'seconds' then sum(seconds) over so_far
                when 'cost_usd' then sum(cost_usd) over so_far
            end as double
        ) as spent
    from timed
    window so_far as (partition by turn_id order by step rows unbounded preceding)
)
select
    cast(len(list_filter($edges, lambda edge: edge < spent)) as bigint) as piece,
    count(*) as steps,
    count(tokens) as steps_with_tokens,
    sum(tokens) as tokens,
    count(cost_usd) as steps_with_cost,
    sum(cost_usd) as cost_usd,
    count(seconds) as steps_with_seconds,
    sum(seconds) as seconds
from reached
where spent is not null
group by all
order by all
