-- When each source was last heard of.
select
    source,
    count(*) as turns,
    max(updated_at) as last_received,
    max(over_at) as last_ended
from counted_turns
group by source
order by last_received desc
