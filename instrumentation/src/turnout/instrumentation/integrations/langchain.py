"""langchain and langgraph: `instrument` for every chain and graph of the process.

    from turnout.instrumentation.integrations.langchain import instrument
    instrument()

One callback handler listens globally. A turn is a chain run without a parent, or an agent's run that a tool call starts; a step is a model
run inside it. Graph recursion counts supersteps, so
its limit is no limit of steps; a limit that a middleware keeps is told by the node that jumps to the end, because the graph then returns
as if it had an answer.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final
from uuid import UUID

from turnout.instrumentation.failures import type_name
from turnout.instrumentation.integrations.default import default_recorder
from turnout.instrumentation.integrations.support import FinishHooks, Quiet, field, usage, whole
from turnout.instrumentation.recorder import Recorder
from turnout.instrumentation.steps import StepHandle
from turnout.instrumentation.texts import text
from turnout.instrumentation.tools import ToolHandle
from turnout.instrumentation.turn import TurnHandle
from turnout.outcomes.facts import Layer, Output

SOURCE: Final = "langchain"

_ERROR_CLAIMS: Final = (
    ("GraphRecursionError", "max_iterations"),
    ("ModelCallLimitExceededError", "step_limit"),
    ("ToolCallLimitExceededError", "tool_calls_limit"),
    ("ModelRefusalError", "refusal"),
    ("ContextOverflowError", "prompt_too_long"),
)
_LIMIT_NODES: Final = (("ModelCallLimitMiddleware", "step_limit"), ("ToolCallLimitMiddleware", "tool_calls_limit"))
_LOOKING_NODES: Final = (".after_model", ".after_agent")
_REASON_KEYS: Final = ("finish_reason", "stop_reason", "done_reason", "finishReason")
_GRAPH: Final = "LangGraph"
"""What langgraph calls the run of a graph without a name."""
_INTERRUPTED: Final = "__interrupt__"

_registered: list[Any] = []


def turnout_handler(recorder: Recorder | None = None, *, attended: bool | None = None) -> Any:
    """A callback handler for ``config={"callbacks": [...]}``, where only some runs are to be recorded."""
    base = import_module("langchain_core.callbacks").BaseCallbackHandler
    made = type("TurnoutHandler", (_Listening, base), {"run_inline": True})
    return made(recorder or default_recorder(), attended)


def instrument(recorder: Recorder | None = None, *, attended: bool | None = None) -> None:
    """Record every run of this process from now on; a second call changes nothing."""
    if _registered:
        _registered[0].active = True
        if recorder is not None:
            _registered[0].use(recorder, attended)
        return
    handler = turnout_handler(recorder, attended=attended)
    _registered.append(handler)
    everywhere: ContextVar[Any] = ContextVar("turnout-langchain-handler", default=handler)
    import_module("langchain_core.tracers.context").register_configure_hook(everywhere, inheritable=True)


def uninstrument() -> None:
    """Listen no more; the handler itself stays registered."""
    for handler in _registered:
        handler.active = False


class _Run:
    """One turn as it is recorded."""

    def __init__(
        self,
        recorder: Recorder,
        attended: bool | None,
        root: UUID,
        name: str | None,
        metadata: Mapping[str, Any],
        parent: TurnHandle | None = None,
    ) -> None:
        self.root = root
        self.steps: dict[UUID, StepHandle] = {}
        self.last: StepHandle | None = None
        self.asked: list[ToolHandle] = []
        self.tools: dict[UUID, ToolHandle] = {}
        self.limits: dict[UUID, str] = {}
        self.nodes: dict[UUID, str] = {}
        self.turn: TurnHandle = recorder.turn(
            # An agent without a name inherits its caller's in the metadata.
            agent=name if parent is not None else metadata.get("lc_agent_name") or name,
            conversation_id=metadata.get("thread_id"),
            attended=attended,
            parent_turn_id=parent.turn_id if parent is not None else None,
            source=SOURCE,
        )
        if parent is not None:
            parent.child(self.turn.turn_id)
        self.hooks = FinishHooks(self.turn)

    def node_started(self, run_id: UUID, name: str | None) -> None:
        """A node of a middleware that keeps a limit, or that looks at what the model answered."""
        if name is None:
            return
        limit = next((reason for node, reason in _LIMIT_NODES if name.startswith(node)), None)
        if limit is not None:
            self.limits[run_id] = limit
        elif name.endswith(_LOOKING_NODES):
            self.nodes[run_id] = name

    def model_started(self, run_id: UUID, metadata: Mapping[str, Any], params: Mapping[str, Any]) -> None:
        """A request goes out."""
        self.last = self.steps[run_id] = self.turn.step(
            model=metadata.get("ls_model_name") or params.get("model") or params.get("model_name"),
            provider=metadata.get("ls_provider"),
            max_output_tokens=whole(metadata.get("ls_max_tokens")),
        )

    def model_ended(self, run_id: UUID, result: Any) -> None:
        """A response came."""
        step = self.steps.pop(run_id, None)
        message = field(result.generations[0][0], "message") if result.generations and result.generations[0] else None
        if step is None:
            return
        said = {**(field(result, "llm_output") or {}), **(field(message, "response_metadata") or {})}
        counts = field(message, "usage_metadata")
        words = field(message, "content")
        chars = _chars(words)
        step.finish(
            raw_finish_reason=_reason(said),
            message_id=said.get("id") or field(message, "id"),
            response_model=said.get("model_name"),
            refusal=True if field(message, "additional_kwargs", "refusal") or _has_refusal(words) else None,
            output=Output(text_chars=chars, parts=1 if chars else 0),
            usage=usage(
                field(counts, "input_tokens"),
                field(counts, "output_tokens"),
                cache_read=field(counts, "input_token_details", "cache_read"),
                cache_write=field(counts, "input_token_details", "cache_creation"),
                reasoning=field(counts, "output_token_details", "reasoning"),
            ),
        )
        for call in field(message, "tool_calls") or ():
            self.asked.append(step.tool_call(call["name"], id=call.get("id"), status="streaming"))
        for call in field(message, "invalid_tool_calls") or ():
            step.tool_call(call.get("name"), id=call.get("id"), status="streaming", arguments_valid=False)

    def model_failed(self, run_id: UUID, error: BaseException) -> None:
        """A request ended without a response."""
        step = self.steps.pop(run_id, None)
        if step is None:
            return
        if isinstance(error, Exception):
            step.failed(error)
        else:
            step.aborted()

    def tool_started(self, run_id: UUID, name: str | None, call_id: str | None) -> None:
        """A call runs: the one of that id, else the first of that name that has not run."""
        handle = next((one for one in self.asked if call_id and one.facts().id == call_id), None)
        handle = handle or next((one for one in self.asked if one.facts().name == name), None)
        if handle is not None:
            self.asked.remove(handle)
        elif self.last is not None:
            handle = self.last.tool_call(name, id=call_id)
        if handle is not None:
            handle.begin()
            self.tools[run_id] = handle

    def tool_ended(self, run_id: UUID, output: Any) -> None:
        """A call returned, maybe with an error that is told to the model."""
        handle = self.tools.pop(run_id, None)
        if handle is not None:
            handle.settle("error" if field(output, "status") == "error" else "ok")
            handle.close()

    def tool_failed(self, run_id: UUID, error: BaseException) -> None:
        """A call raised; an interrupt is a question to a person, and a cut call stays as it was."""
        handle = self.tools.pop(run_id, None)
        if handle is None:
            return
        if type(error).__name__ == "GraphInterrupt":
            handle.settle("awaiting_client")
        elif isinstance(error, Exception):
            handle.failed(error)
        handle.close()

    def node_ended(self, run_id: UUID, outputs: Any) -> None:
        """A limiting node that jumps to the end has ended the turn; one that sends an answer back to the model vetoes it."""
        reason = self.limits.pop(run_id, None)
        name = self.nodes.pop(run_id, None)
        goes = field(outputs, "jump_to")
        if reason is not None and goes == "end":
            self.turn.claim(Layer.RUNTIME, reason)
        elif name is not None and self.last is not None and not self.last.facts().tool_calls:
            if goes == "model":
                self.hooks.vetoed(name)
            else:
                self.hooks.passed(name)

    def ended(self, outputs: Any) -> None:
        """The run gave a result: an answer, or a question to a person."""
        if isinstance(outputs, Mapping) and _INTERRUPTED in outputs:
            self.turn.claim(Layer.RUNTIME, "interrupt")
        else:
            self.turn.claim(Layer.RUNTIME, "completed")
        self.turn.end()

    def failed(self, error: BaseException) -> None:
        """The run ended by an exception."""
        if type(error).__name__ in ("GraphInterrupt", "NodeInterrupt"):
            self.turn.claim(Layer.RUNTIME, "interrupt")
            self.turn.end()
            return
        kinds = {kind.__name__ for kind in type(error).__mro__}
        reason = next((reason for kind, reason in _ERROR_CLAIMS if kind in kinds), None)
        if reason is not None:
            self.turn.claim(Layer.RUNTIME, reason, error_type=type_name(error))
            self.turn.end()
        else:
            self.turn.end(error)


class _Listening:
    """The callbacks; the class that langchain sees is this one joined to its own base."""

    def __init__(self, recorder: Recorder, attended: bool | None) -> None:
        self.active = True
        self.use(recorder, attended)
        self._runs: dict[UUID, _Run] = {}

    def use(self, recorder: Recorder, attended: bool | None) -> None:
        """Record with another recorder from now on."""
        self._recorder = recorder
        self._attended = attended
        self._quiet = Quiet(recorder.losses, SOURCE)

    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        name: str | None = None,
        **_: Any,
    ) -> None:
        """A turn where nothing is around it, else a node of one."""
        del inputs
        if self.active:
            named = name or field(serialized, "name")
            self._quiet(self._chain_started, run_id, parent_run_id, named, metadata or {})

    def on_chain_end(self, outputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any) -> None:
        """The end of a turn, or of a node."""
        del parent_run_id
        run = self._runs.pop(run_id, None)
        if run is not None and run.root == run_id:
            self._quiet(run.ended, outputs)
        elif run is not None:
            self._quiet(run.node_ended, run_id, outputs)

    def on_chain_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any
    ) -> None:
        """The end of a turn by an exception; a node's is its turn's, or was handled."""
        del parent_run_id
        run = self._runs.pop(run_id, None)
        if run is not None and run.root == run_id:
            self._quiet(run.failed, error)

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A step."""
        del serialized, messages
        self._quiet(self._model_started, run_id, parent_run_id, metadata, kwargs)

    def on_llm_start(
        self,
        serialized: Any,
        prompts: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A step of a model that only completes text."""
        del serialized, prompts
        self._quiet(self._model_started, run_id, parent_run_id, metadata, kwargs)

    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        """The response of a step."""
        self._quiet(self._tell, run_id, lambda run: run.model_ended(run_id, response))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """The failure of a step."""
        self._quiet(self._tell, run_id, lambda run: run.model_failed(run_id, error))

    def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """A call runs."""
        del input_str
        run = self._runs.get(parent_run_id) if parent_run_id is not None else None
        if run is not None:
            self._runs[run_id] = run
            name = kwargs.get("name") or field(serialized, "name")
            self._quiet(run.tool_started, run_id, name, kwargs.get("tool_call_id"))

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        """A call returned."""
        self._quiet(self._tell, run_id, lambda run: run.tool_ended(run_id, output))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A call raised."""
        self._quiet(self._tell, run_id, lambda run: run.tool_failed(run_id, error))

    def _tell(self, run_id: UUID, what: Callable[[_Run], None]) -> None:
        run = self._runs.pop(run_id, None)
        if run is not None:
            self._quiet(what, run)

    def _chain_started(
        self, run_id: UUID, parent_run_id: UUID | None, name: str | None, metadata: Mapping[str, Any]
    ) -> None:
        if parent_run_id is None:
            self._runs[run_id] = _Run(self._recorder, self._attended, run_id, name, metadata)
            return
        run = self._runs.get(parent_run_id)
        if run is None:
            return
        if parent_run_id in run.tools and name in (_GRAPH, metadata.get("lc_agent_name")):
            self._runs[run_id] = _Run(self._recorder, self._attended, run_id, name, metadata, run.turn)
            return
        self._runs[run_id] = run
        run.node_started(run_id, name)

    def _model_started(
        self, run_id: UUID, parent_run_id: UUID | None, metadata: dict[str, Any] | None, kwargs: dict[str, Any]
    ) -> None:
        run = self._runs.get(parent_run_id) if parent_run_id is not None else None
        if run is not None:
            self._runs[run_id] = run
            self._quiet(run.model_started, run_id, metadata or {}, kwargs.get("invocation_params") or {})


def _reason(said: Mapping[str, Any]) -> str | None:
    known = [field(said, "incomplete_details", "reason"), *[said.get(key) for key in _REASON_KEYS], said.get("status")]
    return next((text(reason) for reason in known if reason), None)


def _chars(content: Any) -> int:
    if isinstance(content, str):
        return len(content)
    return sum(len(part if isinstance(part, str) else field(part, "text") or "") for part in content or ())


def _has_refusal(content: Any) -> bool:
    return not isinstance(content, str) and any(field(part, "type") == "refusal" for part in content or ())
