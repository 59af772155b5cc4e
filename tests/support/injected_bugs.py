"""A bug of ours at every function of ours that a run enters, found by watching the run and not picked by hand."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, NoReturn

import turnout.instrumentation

ROOM: Final = f"{Path(turnout.instrumentation.__file__).parent}/"

GUARDS: Final = frozenset(
    {
        # What catches our faults cannot catch its own; each of these does nothing else than catch, and count.
        "Quiet.__call__",
        "guarded.<locals>.call",
        "Block.__enter__",
        "Block.__exit__",
        "Block.__aenter__",
        "Block.__aexit__",
        "GeneratorScope.__enter__",
        "GeneratorScope.__exit__",
        # The host's own work passes through these, which do nothing else than let it.
        "in_scope",
        "_served",
        "_Listening._check",
        # Called when a function is decorated, which is before there is a turn.
        "_wrapper_for",
        "_coroutine",
        "Quiet.__init__",
    }
)
_PASSED_OVER: Final = ("losses.py", "patching.py", "testing.py")
_DEEP: Final = (
    "columns.py",
    "failures.py",
    "instruments.py",
    "known.py",
    "sink.py",
    "spans.py",
    "state.py",
    "texts.py",
)
"""What only the recorder itself calls, the same for every framework."""


class OursError(RuntimeError):
    """Nobody but our own guards may see it."""


class Watch:
    """Sees every function of ours that one of ours calls, and raises on the first entry into ``at``.

    What the framework calls itself is left out: such functions are thin, and what they call is what is guarded. ``deep`` takes in
    what only the recorder calls.
    """

    def __init__(self, at: CodeType | None = None, *, deep: bool) -> None:
        self.seen: dict[CodeType, None] = {}
        self.fired = False
        self._at = at
        self._deep = deep

    def during(self, work: Callable[[], object]) -> tuple[str, str]:
        """Work under watch; what came of it, as a text to be compared."""
        sys.settrace(self._enter)
        try:
            return "returned", repr(work())
        except Exception as error:  # noqa: BLE001 - whatever the host sees is what counts
            return type(error).__name__, str(error)
        finally:
            sys.settrace(None)

    def _enter(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and _inner(frame) and (self._deep or not frame.f_code.co_filename.endswith(_DEEP)):
            self.seen.setdefault(frame.f_code)
            if frame.f_code is self._at and not self.fired:
                self.fired = True
                _fail()


def _fail() -> NoReturn:
    raise OursError("a bug of ours")


def _inner(frame: FrameType) -> bool:
    code, caller = frame.f_code, frame.f_back
    if caller is None or not _ours(code) or not _ours(caller.f_code):
        return False
    return code.co_qualname not in GUARDS and not code.co_name.startswith("<")


def _ours(code: CodeType) -> bool:
    return code.co_filename.startswith(ROOM) and not code.co_filename.endswith(_PASSED_OVER)


def named(codes: Iterator[CodeType]) -> list[str]:
    """The functions by name."""
    return [f"{Path(code.co_filename).name}:{code.co_qualname}" for code in codes]
