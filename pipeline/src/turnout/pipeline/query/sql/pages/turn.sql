-- One segment by id, with the facts; of the files alone in which it is, and of these the rows that started when it did.
select *
from turn_segments
where turn_id = $turn_id and started_at is not distinct from $started
limit 1
