-- The model calls of one segment, in order.
select *
from steps
where turn_id = $turn_id
order by step, position
