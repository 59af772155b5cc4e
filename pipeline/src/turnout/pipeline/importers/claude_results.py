"""The ``result`` line of a Claude Code stream: the runtime's word on the end, and how far its usage and that of the messages agree."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from turnout.outcomes.facts import Claim, Instant, Layer, Step, StepError, ToolStatus, Usage
from turnout.pipeline.importers import chat, fields
from turnout.pipeline.importers.claude_messages import CUT, api_refusal, error_reason

Line = Mapping[str, object]

_TERMINAL = {
    "completed": "success",
    "max_turns": "max_turns",
    "prompt_too_long": "prompt_too_long",
    "aborted_streaming": "user_stop",
    "aborted_tools": "user_stop",
    "api_error": "error",
    "model_error": "error",
    "image_error": "error",
    "blocking_limit": "error",
    "rapid_refill_breaker": "error",
    "malformed_tool_use_exhausted": "error",
}
"""What ``terminal_reason`` says, in the contract's words; a value that is not here is passed on as it is."""

_MALFORMED = frozenset({"error_max_structured_output_retries", "malformed_tool_use_exhausted"})
_VAGUE = frozenset({"error", "error_during_execution"})
_ABORTED = "request was aborted"
_SUBTYPES = frozenset({"success", "error_max_turns", "error_max_budget_usd", "error_during_execution"})


def with_denials(steps: Sequence[Step], result: Line) -> tuple[Step, ...]:
    """Mark the calls that the result lists as denied."""
    denied = {fields.text(item, "tool_use_id") for item in fields.objects(result, "permission_denials")} - {None}
    if not denied:
        return tuple(steps)
    return tuple(
        replace(
            step,
            tool_calls=tuple(
                replace(call, status=ToolStatus.DENIED, error_type=None, denied_by=call.denied_by or "host")
                if call.id in denied
                else call
                for call in step.tool_calls
            ),
        )
        for step in steps
    )


def trusted(steps: Sequence[Step], total: Usage | None) -> tuple[Step, ...]:
    """Keep the usage of the steps where it adds up to the result's.

    Without a result, a line that carries no stop reason is a snapshot: its output count is not the final one.
    """
    if total is None:
        return tuple(step if step.raw_finish_reason is not None else _without_output_count(step) for step in steps)
    sums = [sum(counts) for counts in zip(*(_counts(step.usage) for step in steps), strict=True)]
    if sums == _counts(total):
        return tuple(steps)
    return tuple(replace(step, usage=None) for step in steps)


def _counts(usage: Usage | None) -> list[int]:
    known = usage or Usage()
    counts = (known.input_tokens, known.output_tokens, known.cache_read_tokens, known.cache_write_tokens)
    return [count or 0 for count in counts]


def _without_output_count(step: Step) -> Step:
    return step if step.usage is None else replace(step, usage=replace(step.usage, output_tokens=None))


def whole(total: Usage | None) -> Usage | None:
    """Count the cache into the input, as a total without steps is read."""
    if total is None or total.input_tokens is None:
        return total
    cached = (total.cache_read_tokens or 0) + (total.cache_write_tokens or 0)
    return replace(total, input_tokens=total.input_tokens + cached)


def claim_of(result: Line, at: Instant | None) -> Claim:
    """Say in the words of the contract how the result says the turn ended; its own word stays as status."""
    subtype = fields.text(result, "subtype")
    words = fields.text(result, "result") or "; ".join(
        item for item in fields.items(result, "errors") if isinstance(item, str)
    )
    reason = _reason(subtype, result)
    if reason in _VAGUE:
        reason = _closer(words) or reason
    failed = reason not in {"success", None}
    status = fields.integer(result, "api_error_status") or chat.status_in(words)
    kind = chat.quota_error(words) or chat.error_of_status(status) if failed else None
    if {subtype, fields.text(result, "terminal_reason")} & _MALFORMED:
        kind = "malformed_output"
    return Claim(
        by=Layer.RUNTIME,
        reason=reason,
        status=fields.text(result, "terminal_reason") or subtype,
        at=at,
        error_type=kind,
        message=(words or None) if failed else None,
    )


def _closer(words: str) -> str | None:
    """What the words of a plain failure say of it, where they say that it is another end."""
    said = error_reason(StepError(message=words), api_refusal(words))
    if said != "error":
        return said
    if "max_output_tokens" in words:
        return CUT
    return "aborted" if _ABORTED in words.lower() else None


def _reason(subtype: str | None, result: Line) -> str | None:
    terminal = fields.text(result, "terminal_reason")
    if terminal is not None and terminal != "completed":
        return _TERMINAL.get(terminal, terminal)
    if subtype is not None and subtype.startswith("error"):
        return subtype if subtype in _SUBTYPES else "error"
    if fields.boolean(result, "is_error") is True:
        return "error"
    return subtype
