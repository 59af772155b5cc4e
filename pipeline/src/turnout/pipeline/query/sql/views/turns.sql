-- Every turn once: the last segment of each root. Every rate counts these rows.
select *
from turn_segments
where last_segment
