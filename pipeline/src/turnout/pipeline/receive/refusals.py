"""Why a request is not accepted, as one closed list that both transports translate."""

from enum import StrEnum


class Why(StrEnum):
    """The kinds of refusal; the first five mean "do not send this again", the next three "try later", the last is a fault of ours."""

    MALFORMED = "malformed"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    TOO_LARGE = "too_large"
    UNSUPPORTED = "unsupported"
    TOO_SLOW = "too_slow"
    BUSY = "busy"
    UNAVAILABLE = "unavailable"
    FAULT = "fault"


class Refused(Exception):  # noqa: N818 - an answer to a client, not an error of ours
    """A request that is not accepted: why, one sentence for the sender, and when to try again."""

    def __init__(self, why: Why, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.why = why
        self.message = message
        self.retry_after = retry_after
