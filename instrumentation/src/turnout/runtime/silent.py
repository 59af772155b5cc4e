"""The recorder of a turn that nobody records: the protocols with nothing behind them."""

from typing import Any

from turnout.runtime.recorder import CallRecord, Recorder, StepRecord, TurnRecord


class SilentCall(CallRecord):
    """Keeps nothing of a call."""


class SilentStep(StepRecord):
    """Keeps nothing of a step."""

    def tool_call(self, name: str | None = None, **_: Any) -> CallRecord:  # noqa: ARG002 - the protocol's
        """Open a record that keeps nothing."""
        return SilentCall()


class SilentTurn(TurnRecord):
    """Keeps nothing of a turn."""

    def step(self, **_: Any) -> StepRecord:
        """Open a record that keeps nothing."""
        return SilentStep()


class SilentRecorder(Recorder):
    """Opens records that keep nothing."""

    def turn(self, **_: Any) -> TurnRecord:
        """Open a record that keeps nothing."""
        return SilentTurn()
