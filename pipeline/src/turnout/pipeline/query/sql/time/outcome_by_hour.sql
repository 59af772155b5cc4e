-- Turns a UTC hour, and how many of them ended in one way; an hour without turns has no row.
--   $outcome  the outcome, or 'abnormal' for all abnormal ones
select
    hour,
    count(*) as turns,
    count(*) filter (outcome = $outcome or ($outcome = 'abnormal' and abnormal)) as ended
from counted_turns
group by hour
order by hour
