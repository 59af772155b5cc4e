-- How many turns have each value of what turns are measured by; a value that is not recorded is left out.
unpivot (
    select
        cast(steps as double) as steps,
        cast(input_tokens + output_tokens as double) as tokens,
        cost_usd,
        duration_s as seconds
    from counted_turns
)
on steps, tokens, cost_usd, seconds
into name measure value amount
