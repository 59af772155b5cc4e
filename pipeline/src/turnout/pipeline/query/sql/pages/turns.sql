-- Turns for a list: every column but the facts.
select * exclude (facts, hour, day, tool, step, cap, has_steps, has_finish_reason, priced, unpriced, everything, n)
from counted_turns
