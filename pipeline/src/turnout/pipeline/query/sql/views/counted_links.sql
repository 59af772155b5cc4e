-- Turns that did not complete, which others may continue or answer, and turns that say which one they continue.
select *
from counted_turns
where outcome != 'completed' or continues_turn_id is not null
