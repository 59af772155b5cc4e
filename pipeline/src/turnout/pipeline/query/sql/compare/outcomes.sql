-- Turns by outcome and by the dimensions that a comparison is adjusted for.
--   $by  names of columns
select
    columns(lambda name: name in $by),
    outcome,
    count(*) as turns
from counted_turns
group by all
order by all
