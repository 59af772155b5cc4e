-- Every turn once for each tool that it called; `tool` is that tool.
select counted_turns.* replace (used.tool as tool)
from counted_turns, unnest(tools) as used(tool)
