-- One segment by id, with the facts and the group of files that its steps and tool calls are in.
select *, split_part(parse_filename(filename), '.', 1) as file_group
from located_segments
where turn_id = $turn_id
limit 1
