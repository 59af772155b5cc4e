"""The tool calls of Codex: as its events tell of them, and as items of the model's answers."""

from collections.abc import Mapping
from dataclasses import replace

from turnout.outcomes.facts import ToolCall, ToolStatus
from turnout.pipeline.importers import fields
from turnout.pipeline.importers.base import Source
from turnout.pipeline.importers.codex_events import Event
from turnout.pipeline.json_text import parse_log_json

_BEGINS = {
    "exec_command_begin": "exec_command",
    "mcp_tool_call_begin": "mcp_tool_call",
    "patch_apply_begin": "apply_patch",
    "web_search_begin": "web_search",
}
_ENDS = frozenset({"exec_command_end", "mcp_tool_call_end", "patch_apply_end", "web_search_end"})
_ASKS = frozenset({"exec_approval_request", "apply_patch_approval_request"})
_ITEMS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})


def started(source: Source, event: Event) -> ToolCall | None:
    """Read the start of a call; ``None`` for every other event."""
    call_id = fields.text(event.body, "call_id") or fields.text(event.body, "id")
    if event.type in _BEGINS:
        asked = fields.value_at(event.body, "command") or event.body.get("invocation") or event.body.get("changes")
        name = _mcp_name(fields.mapping(event.body, "invocation")) or _BEGINS[event.type]
    elif event.type in _ITEMS:
        asked = event.body.get("arguments") or event.body.get("input") or event.body.get("action")
        name = fields.text(event.body, "name") or event.type
    else:
        return None
    return ToolCall(
        id=call_id,
        name=name,
        status=ToolStatus.RUNNING if event.type in _BEGINS else ToolStatus.UNKNOWN,
        mutating=True if name == "apply_patch" else False if name in {"web_search", "update_plan"} else None,
        arguments_digest=source.digest(asked),
        started_at=event.at,
    )


def ended(call: ToolCall, event: Event) -> ToolCall:
    """Settle a call by the event that ends it."""
    error = _error(event)
    if error == "denied":
        return replace(call, status=ToolStatus.DENIED, denied_by="user", ended_at=event.at)
    status = ToolStatus.OK if error is None else ToolStatus.ERROR
    return replace(call, status=status, error_type=error, ended_at=event.at)


def is_end(event: Event) -> bool:
    """Whether an event settles a call."""
    return event.type in _ENDS or event.type in _OUTPUTS


def is_question(event: Event) -> bool:
    """Whether an event asks a person to approve a call."""
    return event.type in _ASKS


def _mcp_name(invocation: Mapping[str, object]) -> str | None:
    parts = (fields.text(invocation, "server"), fields.text(invocation, "tool"))
    return ".".join(part for part in parts if part is not None) or None


def _error(event: Event) -> str | None:
    body = event.body
    if event.type in _OUTPUTS:
        return _output_error(body.get("output"))
    if fields.integer(body, "exit_code"):
        return "exit_code"
    if fields.boolean(body, "success") is False:
        return "failed"
    result = fields.mapping(body, "result")
    failed = (
        "Err" in result or fields.boolean(result, "Ok", "is_error") is True or fields.boolean(result, "Ok", "isError")
    )
    return "failed" if failed else None


def _output_error(output: object) -> str | None:
    """Read what the program wrote as the output of a call: text, or an object with an exit code, itself often text."""
    if isinstance(output, list):
        output = next((words for block in output if (words := fields.text(block, "text")) is not None), "")
    found: object = output
    if isinstance(output, str):
        if output.startswith(("exec command rejected by user", "patch rejected by user", "rejected by user")):
            return "denied"
        if output.startswith("aborted by user"):
            return "interrupted"
        if output.startswith(("Script failed", "Script terminated")):
            return "failed"
        try:
            found = parse_log_json(output)
        except ValueError:
            return _exit_code_line(output)
    if fields.integer(found, "metadata", "exit_code"):
        return "exit_code"
    return "failed" if fields.boolean(found, "success") is False else None


def _exit_code_line(words: str) -> str | None:
    head = words[:400]
    for marker in ("Exit code: ", "Process exited with code "):
        _, found, rest = head.partition(marker)
        if found:
            code = rest.split(None, 1)[0] if rest.split() else "0"
            return None if code == "0" else "exit_code"
    return None
