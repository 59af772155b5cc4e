"""A bug of ours, wherever it is, never ends or changes a turn of the host's: a bug is put into every function of ours, one after the other."""

import asyncio
import logging
from collections.abc import Iterator
from types import CodeType

import pytest

from framework_runs import ALL, Framework, Words, installed
from injected_bugs import Watch, named
from turnout.instrumentation import Losses, Recorder, instrument, uninstrument
from turnout.instrumentation.integrations.everything import FRAMEWORKS
from turnout.instrumentation.testing import MemorySink


class HostError(Exception):
    """What the application's model fails with."""


OUR_OWN = [framework for framework in ALL if framework.source not in FRAMEWORKS]


class Play:
    """One turn of a framework with a recorder of its own, and a bug at one place."""

    def __init__(self, framework: Framework, words: Words, at: CodeType | None = None) -> None:
        self.losses = Losses(warn=lambda _: None)
        self.watch = Watch(at, deep=framework in OUR_OWN)
        recorder = Recorder(MemorySink(), losses=self.losses)
        instrument(recorder, only=[] if framework in OUR_OWN else [framework.source])

        async def main() -> object:
            return _plain(await framework.run("turn_1", words, recorder))

        try:
            self.seen_by_the_host = self.watch.during(lambda: asyncio.run(main()))
        finally:
            uninstrument()


def _plain(result: object) -> object:
    """The words of an answer, without ids that vary."""
    if isinstance(result, dict):
        return [message.content for message in result["messages"]]
    return getattr(result, "final_output", result)


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    """Frameworks complain at length of what fails here by intent."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("framework", ALL, ids=lambda framework: framework.source)
def test_a_bug_anywhere_changes_nothing(framework: Framework) -> None:
    """The host sees the same answer and the same exception, and the bug is counted."""
    if framework not in installed():
        pytest.skip(f"{framework.source} is not installed")
    tried: set[CodeType] = set()
    for words in ("done", HostError("the model is down")):
        Play(framework, words)  # whatever is made once is made now
        sound = Play(framework, words)
        assert sound.losses.totals() == {}
        places = [code for code in sound.watch.seen if code not in tried]
        tried.update(places)
        bugs = {code: Play(framework, words, code) for code in places}
        reached = {code: play for code, play in bugs.items() if play.watch.fired}
        changed = [code for code, play in reached.items() if play.seen_by_the_host != sound.seen_by_the_host]
        assert named(iter(changed)) == []
        assert named(code for code, play in reached.items() if not play.losses.totals()) == []
        assert len(reached) >= len(places) - 2
    assert len(tried) > 30
