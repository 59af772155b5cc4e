-- Every segment of one turn, oldest first.
select * exclude (facts)
from turn_segments
where root_turn_id = $root
order by started_at nulls first, ended_at nulls first, turn_id
