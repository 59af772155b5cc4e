"""What must hold of the source of the runtime."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import turnout.runtime
from turnout.outcomes.decide import BudgetReason, FailReason, Finish, StopReason, YieldReason

ROOM = Path(turnout.runtime.__file__).parent
MODULES = sorted(ROOM.rglob("*.py"))
KINDS = (StopReason, YieldReason, Finish, BudgetReason, FailReason)
# Words that are reasons and mean other things as well: a failed call, an unknown state.
COMMON = {"error", "unknown"}
REASONS = {str(reason) for kind in KINDS for reason in kind} - COMMON


def literals(tree: ast.Module) -> Iterator[str]:
    """String literals that are no docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def members(tree: ast.Module) -> Iterator[str]:
    """Reasons named as members of their enums."""
    names = {kind.__name__ for kind in KINDS}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            yield f"{node.value.id}.{node.attr}"


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(ROOM)) for path in MODULES])
def test_no_module_names_a_terminal_reason(path: Path) -> None:
    """Only the decision does; a model's translation of a provider's words is no reason and stands in data of its own."""
    tree = ast.parse(path.read_text())
    named = set(members(tree))
    if path.name != "scripted.py" and path.parent.name != "models":
        named |= REASONS & set(literals(tree))
    assert named == set()


def test_only_the_seam_sends() -> None:
    """No other module of the room calls a model's stream."""
    senders = [
        path.name
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "stream"
        if path.parent.name != "models"
    ]
    assert senders == ["request.py"]


def test_only_the_loop_decides() -> None:
    """The decision is asked for in one place."""
    deciders = [
        path.name
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "decide_step"
    ]
    assert deciders == ["loop.py"]


def test_the_room_knows_no_recorder() -> None:
    """The loop runs on a protocol."""
    imported = {
        node.module or ""
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
    }
    assert not [name for name in imported if name.startswith(("turnout.instrumentation", "turnout.pipeline"))]
