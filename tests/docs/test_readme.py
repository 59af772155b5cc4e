"""What the README shows works as it stands."""

import inspect
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from turnout.cli.commands import COMMANDS
from turnout.instrumentation import Recorder
from turnout.instrumentation.testing import MemorySink
from turnout.outcomes.verdict import Outcome

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def test_the_example_records_a_finished_turn() -> None:
    """The loop of the README, with a sink that keeps what it is given, is a completed turn of one step."""
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "recorder.turn" in block)
    body = code.split("\n\n", 2)[2]
    sink = MemorySink()
    names = {
        "recorder": Recorder(sink, service="shop"),
        "ask_model": lambda: SimpleNamespace(stop_reason="end_turn"),
        "search_orders": lambda: None,
    }
    imports = code.split("\n", 1)[0].replace(", otlp_sink", "")
    exec(compile(f"{imports}\n{body}", "README.md", "exec"), names)
    (verdict,) = sink.verdicts
    assert (verdict.outcome, verdict.steps, verdict.tool_calls) == (Outcome.COMPLETED, 1, 1)


def test_the_one_line_listens_to_every_installed_framework() -> None:
    """The line of the README names something that can be imported and called as shown."""
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "instrument()" in block)
    called: list[tuple[()]] = []
    statement = code.split("\n\n", 1)[1]
    names = {"instrument": lambda: called.append(())}
    exec(compile(statement, "README.md", "exec"), names)
    imported: dict[str, object] = {}
    exec(compile(code.split("\n\n", 1)[0], "README.md", "exec"), imported)
    inspect.signature(imported["instrument"]).bind()  # type: ignore[arg-type]
    assert called == [()]


def test_commands_of_the_readme_exist() -> None:
    """Every ``turnout`` command that is shown is one."""
    shown = set(re.findall(r"turnout ([a-z]+)", "\n".join(re.findall(r"```console\n(.*?)```", README, re.DOTALL))))
    assert shown - {"turns"} <= {entry.name for entry in COMMANDS}


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_links_lead_somewhere(target: str) -> None:
    """No link of the README is broken."""
    assert (ROOT / target).exists()
