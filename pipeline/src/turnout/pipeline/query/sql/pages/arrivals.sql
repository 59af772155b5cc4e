-- Each source's rhythm: when it was last heard of, how many turns its last busy hour had, and its longest pause between two
-- minutes with a turn. Sources that ended turns in fewer than thirty minutes of the window have no rhythm yet.
with counted as (
    select source, over_at, updated_at, max(over_at) over (partition by source) as latest
    from counted_turns
),

totals as (
    select
        source,
        count(*) as turns,
        max(updated_at) as last_received,
        max(over_at) as last_ended,
        count(*) filter (over_at > latest - interval 1 hour) as last_hour
    from counted
    group by source
),

minutes as (
    select distinct source, date_trunc('minute', over_at) as minute
    from counted
    where over_at is not null
),

pauses as (
    select source, minute - lag(minute) over (partition by source order by minute) as pause
    from minutes
),

rhythm as (
    select source, case when count(*) >= 30 then cast(epoch(max(pause)) as double) end as longest_pause
    from pauses
    group by source
)

select totals.*, rhythm.longest_pause
from totals
left join rhythm on totals.source is not distinct from rhythm.source
order by last_received desc, totals.source
