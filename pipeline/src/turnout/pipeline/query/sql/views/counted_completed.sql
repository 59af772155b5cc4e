-- Turns that completed, of every file of the window even where a cube stands for it: for statements that look some up by id.
select
    *,
    coalesce(started_at, received_at) as counted_at,
    coalesce(ended_at, last_seen_at, started_at, received_at) as over_at
from named_segments
where last_segment and outcome = 'completed'
