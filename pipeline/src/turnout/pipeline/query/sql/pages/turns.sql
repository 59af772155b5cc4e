-- Turns for a list: every column but the facts.
select * exclude (facts, hour, day, tool, step, cap, everything)
from counted_turns
