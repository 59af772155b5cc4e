-- Where the segments are that have an id as their own or as their root.
select
    turn_id,
    root_turn_id,
    started_at,
    split_part(parse_filename(filename), '.', 1) as file_group,
    date
from located_segments
where turn_id = $turn_id or root_turn_id = $turn_id
order by turn_id
