-- Which classifier decided how many turns.
select
    classifier_version,
    count(*) as turns
from turn_segments
group by classifier_version
order by classifier_version
