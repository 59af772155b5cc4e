"""What OpenAI's two APIs say of a response's end, before a framework makes something else of it."""

from dataclasses import dataclass, replace
from typing import Any

from turnout.instrumentation.integrations.support import field, usage
from turnout.instrumentation.steps import StepHandle
from turnout.outcomes.facts import Output, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The end of one response."""

    api: str
    reason: str | None = None
    usage: Usage | None = None
    model: str | None = None
    id: str | None = None
    refused: bool = False
    text_chars: int = 0

    def tell(self, step: StepHandle) -> None:
        """Record it."""
        step.finish(
            api=self.api,
            raw_finish_reason=self.reason,
            usage=self.usage,
            response_model=self.model,
            message_id=self.id,
            refusal=True if self.refused else None,
            output=Output(text_chars=self.text_chars, parts=1 if self.text_chars else 0),
            stream_complete=True if self.reason is not None else None,
        )


def of_chat(completion: Any) -> Answer:
    """A chat completion: its first choice."""
    choice = completion.choices[0] if completion.choices else None
    return Answer(
        api="chat.completions",
        reason=field(choice, "finish_reason"),
        usage=_chat_usage(field(completion, "usage")),
        model=field(completion, "model"),
        id=field(completion, "id"),
        refused=_refuses(field(choice, "message")),
        text_chars=len(field(choice, "message", "content") or ""),
    )


def _refuses(message: Any) -> bool:
    """Whether the provider refused; a refusal without a word counts where nothing else was said, since some servers always send one."""
    refusal = field(message, "refusal")
    return bool(refusal) or (refusal is not None and not field(message, "content") and not field(message, "tool_calls"))


def of_chunk(before: Answer | None, chunk: Any) -> Answer:
    """One chunk of a streamed chat completion, added to what came before it."""
    answer = before or Answer(api="chat.completions")
    choice = chunk.choices[0] if chunk.choices else None
    return replace(
        answer,
        reason=field(choice, "finish_reason") or answer.reason,
        usage=_chat_usage(field(chunk, "usage")) or answer.usage,
        model=field(chunk, "model") or answer.model,
        id=field(chunk, "id") or answer.id,
        refused=answer.refused or bool(field(choice, "delta", "refusal")),
        text_chars=answer.text_chars + len(field(choice, "delta", "content") or ""),
    )


def of_response(response: Any) -> Answer:
    """A response of the responses API: the reason of an incomplete or failed one, else its status."""
    contents = [part for item in field(response, "output") or () for part in field(item, "content") or ()]
    counts = field(response, "usage")
    return Answer(
        api="responses",
        reason=field(response, "incomplete_details", "reason")
        or field(response, "error", "code")
        or field(response, "status"),
        usage=usage(
            field(counts, "input_tokens"),
            field(counts, "output_tokens"),
            cache_read=field(counts, "input_tokens_details", "cached_tokens"),
            reasoning=field(counts, "output_tokens_details", "reasoning_tokens"),
        ),
        model=field(response, "model"),
        id=field(response, "id"),
        refused=any(field(part, "type") == "refusal" for part in contents),
        text_chars=sum(len(field(part, "text") or "") for part in contents if field(part, "type") == "output_text"),
    )


def of_event(event: Any) -> Answer | None:
    """A terminal event of a streamed response."""
    if field(event, "type") in ("response.completed", "response.incomplete", "response.failed"):
        return of_response(event.response)
    return None


def _chat_usage(counts: Any) -> Usage | None:
    return usage(
        field(counts, "prompt_tokens"),
        field(counts, "completion_tokens"),
        cache_read=field(counts, "prompt_tokens_details", "cached_tokens"),
        reasoning=field(counts, "completion_tokens_details", "reasoning_tokens"),
    )
