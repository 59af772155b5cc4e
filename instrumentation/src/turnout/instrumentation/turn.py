"""The handle on a turn: what a loop tells of it, and its one end."""

from turnout.instrumentation.block import Block
from turnout.instrumentation.failures import claim_without_text
from turnout.instrumentation.guard import guarded
from turnout.instrumentation.known import Values, values_of
from turnout.instrumentation.scope import GeneratorScope, Scope, current_state
from turnout.instrumentation.sink import Place
from turnout.instrumentation.state import StepState
from turnout.instrumentation.steps import StepHandle
from turnout.instrumentation.texts import OTHER, text
from turnout.outcomes.facts import CheckVerdict, Claim, Layer, Requester, StopMode, TaskResult, TurnFacts, Usage
from turnout.outcomes.verdict import Verdict


class TurnHandle(Block):
    """A turn that is being recorded; ends with its ``with`` block, or by `end`, whatever leaves it open.

    Nothing here raises, and no exception of the block is held back. Whatever is said after the end is taken too, and emitted as
    a late event.
    """

    __slots__ = ()

    def step(
        self,
        *,
        model: str | None = None,
        provider: str | None = None,
        api: str | None = None,
        request_id: str | None = None,
        max_output_tokens: int | None = None,
        forced_final: bool | None = None,
        index: int | None = None,
    ) -> StepHandle:
        """Open the next step: one model request and the tool calls it causes.

        Args:
            model: the requested model.
            provider: as in ``gen_ai.provider.name``.
            api: tells two vocabularies of one provider apart (``chat.completions``, ``responses``).
            request_id: the provider's id of the request.
            max_output_tokens: the output cap of this request.
            forced_final: the loop disabled the tools because the budget is spent.
            index: counts from 1; given only where the loop counts otherwise than by calls of this method.
        """
        turn = self._turn
        try:
            return StepHandle(
                turn, self._opened(model, provider, api, request_id, max_output_tokens, forced_final, index)
            )
        except Exception as fault:  # noqa: BLE001 - telemetry never raises into the host
            self.losses.fault("TurnHandle.step", fault)
            return StepHandle(turn, StepState({"index": 0}, None))

    def _opened(
        self,
        model: str | None,
        provider: str | None,
        api: str | None,
        request_id: str | None,
        max_output_tokens: int | None,
        forced_final: bool | None,
        index: int | None,
    ) -> StepState:
        turn = self._turn
        values: Values = {"started_at": turn.recorder.now()}
        if model is not None:
            values["model"] = text(model)
        if provider is not None:
            values["provider"] = text(provider)
        if api is not None:
            values["api"] = text(api)
        if request_id is not None:
            values["request_id"] = text(request_id)
        if max_output_tokens is not None:
            values["max_output_tokens"] = max_output_tokens
        if forced_final is not None:
            values["forced_final"] = forced_final
        return turn.add_step(values, index)

    @guarded
    def stop(
        self,
        mode: StopMode | str = StopMode.IMMEDIATE,
        reason: str = "user_stop",
        *,
        by: Requester | str = Requester.USER,
    ) -> None:
        """Record a request to stop: at once, or after the running step."""
        turn = self._turn
        request = {
            "mode": StopMode(mode).value,
            "reason": self._word(reason, "stop reason"),
            "step": self._last_step(),
            "at": turn.recorder.now(),
            "seq": turn.seq(),
            "by": Requester(by).value,
        }
        turn.append("stop_requests", request)

    @guarded
    def finish_check(self, verdict: CheckVerdict | str, *, by: str | None = None, why: str | None = None) -> None:
        """Record what a finish hook said of the last step; ``why`` is free text and goes no further."""
        del why
        check = {"step": self._last_step(), "verdict": CheckVerdict(verdict).value, "by": text(by)}
        self._turn.append("finish_checks", check)

    @guarded
    def yielded(self, reason: str, *, tool_call_id: str | None = None) -> None:
        """Record that a tool ended the turn: a hand-off, or a question that waits for a person."""
        handed_back = {"reason": self._word(reason, "yield reason"), "tool_call_id": text(tool_call_id)}
        self._keep("yield", {key: value for key, value in handed_back.items() if value is not None})

    @guarded
    def claim(
        self,
        by: Layer | str,
        reason: str | None = None,
        *,
        status: str | None = None,
        error_type: str | None = None,
        message: str | None = None,
        exit_code: int | None = None,
    ) -> None:
        """Record a layer's own word on how the turn ended; of a message, known phrases alone are kept.

        A reason that is a text is read as a message is, and no further.
        """
        turn = self._turn
        layer = Layer(by)
        said = self._word(reason, "claim reason")
        if said == OTHER and message is None:
            message = text(reason)
        if message is not None:
            message = claim_without_text(Claim(by=layer, message=text(message))).message
        claim = {
            "by": layer.value,
            "reason": said,
            "status": self._word(status, "claim status"),
            "at": turn.recorder.now(),
            "seq": turn.seq(),
            "error_type": self._word(error_type, "error type"),
            "message": message,
            "exit_code": exit_code,
        }
        turn.append("claims", claim)

    @guarded
    def aggregate(self, *, usage: Usage | None = None, cost_usd: float | None = None) -> None:
        """Record totals that the framework gives for the whole turn; a check, never added to the steps."""
        if usage is not None:
            self._turn.values["usage"] = values_of(usage)
        if cost_usd is not None:
            self._turn.values["cost_usd"] = cost_usd
        self._turn.changed()

    @guarded
    def task_result(
        self, *, resolved: bool | None = None, correct: bool | None = None, reward: float | None = None
    ) -> None:
        """Record what a benchmark or a person said of the work; apart from the outcome."""
        self._keep("task_result", values_of(TaskResult(resolved=resolved, correct=correct, reward=reward)))

    @guarded
    def child(self, turn_id: str) -> None:
        """Record that a tool call of this turn started another turn."""
        self._turn.values.setdefault("children_expected", []).append(text(turn_id))
        self._turn.changed()

    @guarded
    def end(self, error: BaseException | None = None) -> None:
        """End the turn, by the exception that left it if one did; a second end changes nothing."""
        self._turn.finish(error)

    @property
    def turn_id(self) -> str:
        """The turn's id."""
        turn_id: str = self._turn.values["turn_id"]
        return turn_id

    @property
    def trace_id(self) -> str | None:
        """The trace that the turn's spans stand in, if they stand in one."""
        trace_id: str | None = self._turn.values.get("trace_id")
        return trace_id

    @property
    def ended(self) -> bool:
        """Whether the turn has ended."""
        return self._turn.end is not None

    @property
    def verdict(self) -> Verdict | None:
        """How the turn ended, once it has."""
        try:
            return self._turn.end.verdict if self._turn.end is not None else None
        except Exception as fault:  # noqa: BLE001 - telemetry never raises into the host
            self.losses.fault("verdict", fault)
            return None

    @property
    def steps(self) -> tuple[StepHandle, ...]:
        """The steps so far."""
        return tuple([StepHandle(self._turn, step) for step in self._turn.steps])

    def facts(self) -> TurnFacts:
        """What is recorded of the turn so far."""
        return self._turn.known().facts

    def enter(self) -> Scope:
        """Make the turn current without a ``with`` block; the scope is to be left by the caller, and ends nothing."""
        return Scope(self._turn, self._turn.place)

    def generator_scope(self) -> GeneratorScope:
        """For generators: entered each time the generator goes on, left each time it hands an item out."""
        return GeneratorScope(self._turn, self._turn.place)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TurnHandle) and other._turn is self._turn

    def __hash__(self) -> int:
        return id(self._turn)

    def _entered(self) -> None:
        self._scope = Scope(self._turn, self._turn.place)

    def _place(self) -> Place | None:
        return self._turn.place

    def _left(self, error: BaseException | None) -> None:
        self._turn.finish(error)

    def _last_step(self) -> int | None:
        steps = self._turn.steps
        return steps[-1].values["index"] if steps else None

    def _keep(self, name: str, values: Values) -> None:
        self._turn.values[name] = values
        self._turn.changed()


def current_turn() -> TurnHandle | None:
    """The innermost turn that is open around the caller, in this thread or task."""
    state = current_state()
    return TurnHandle(state) if state is not None else None
