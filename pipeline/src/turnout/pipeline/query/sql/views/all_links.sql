-- What `counted_links` shows, whatever the filters let through.
select *
from counted_links
