-- The model calls of one segment, in order.
select *
from steps
where turn_id = $turn_id and turn_started_at = $started
order by step, position
