"""The bounded queue between the host's thread and the exporters."""

import os
import threading
from collections.abc import Callable, Sequence

import pytest
from opentelemetry import context

from turnout.instrumentation import Losses
from turnout.instrumentation.batch import Batch, Batching

PATIENT = Batching(delay_s=3600)
SLOW = Batching(delay_s=3600, max_queue=4, max_batch=2)


def batch_of(export: Callable[[Sequence[str]], bool], losses: Losses, batching: Batching = PATIENT) -> Batch[str]:
    return Batch(export, what="items", losses=losses, batching=batching)


def test_what_is_added_is_exported_in_order_and_never_in_the_callers_thread(losses: Losses) -> None:
    """The host hands over and goes on; a thread of ours does the rest."""
    threads: set[str] = set()
    got: list[str] = []

    def export(items: Sequence[str]) -> bool:
        threads.add(threading.current_thread().name)
        got.extend(items)
        return True

    batch = batch_of(export, losses)
    for item in "abcde":
        batch.add(item)
    assert batch.flush(5)
    assert got == list("abcde")
    assert threads == {"turnout-items"}
    assert losses.totals() == {}


def test_a_delay_ends_without_a_flush(losses: Losses) -> None:
    """An item goes out after the delay, whether or not more come."""
    gone = threading.Event()

    def export(items: Sequence[str]) -> bool:
        gone.set()
        return len(items) == 1

    batch_of(export, losses, Batching(delay_s=0.01)).add("a")
    assert gone.wait(5)


def test_a_full_batch_goes_before_its_delay(losses: Losses) -> None:
    """A busy process does not wait for the clock."""
    sizes: list[int] = []
    gone = threading.Event()

    def export(items: Sequence[str]) -> bool:
        sizes.append(len(items))
        gone.set()
        return True

    batch = batch_of(export, losses, SLOW)
    batch.add("a")
    batch.add("b")
    assert gone.wait(5)
    assert sizes == [2]


def test_a_full_queue_loses_the_newest_and_counts_it(losses: Losses) -> None:
    """With the exporter stuck the host is not held up, and what is lost is known."""
    stuck, entered = threading.Event(), threading.Event()
    got: list[str] = []

    def export(items: Sequence[str]) -> bool:
        entered.set()
        stuck.wait(5)
        got.extend(items)
        return True

    batch = batch_of(export, losses, SLOW)
    batch.add("a")
    batch.add("b")
    assert entered.wait(5)
    for item in "cdefgh":
        batch.add(item)
    stuck.set()
    assert batch.flush(5)
    assert got == list("abcdef")
    assert losses.totals() == {"items: queue full": 2}


def test_a_batch_that_is_refused_is_counted(losses: Losses) -> None:
    """An exporter that says no has lost the batch."""
    batch = batch_of(lambda _: False, losses)
    batch.add("a")
    batch.add("b")
    assert batch.flush(5)
    assert losses.totals() == {"items: export failed": 2}


def test_an_item_that_cannot_be_exported_takes_no_other_with_it(losses: Losses) -> None:
    """A record that breaks the encoder is found and counted alone."""
    got: list[str] = []

    def export(items: Sequence[str]) -> bool:
        if "bad" in items:
            raise ValueError("CANARY")
        got.extend(items)
        return True

    batch = batch_of(export, losses)
    for item in ("a", "bad", "b"):
        batch.add(item)
    assert batch.flush(5)
    assert got == ["a", "b"]
    (kind,) = losses.totals()
    assert kind.startswith("items: export failed: ValueError at test_batch.py:")


def test_a_flush_that_takes_too_long_says_so(losses: Losses) -> None:
    """The host is not held by an exporter that hangs."""
    stuck = threading.Event()
    batch = batch_of(lambda _: stuck.wait(5), losses)
    batch.add("a")
    assert not batch.flush(0.01)
    stuck.set()
    assert batch.flush(5)


def test_closing_exports_the_rest_and_refuses_more(losses: Losses) -> None:
    """After the end nothing is taken in silence."""
    got: list[str] = []

    def export(items: Sequence[str]) -> bool:
        got.extend(items)
        return True

    batch = batch_of(export, losses)
    batch.add("a")
    assert batch.close(5)
    batch.add("b")
    assert got == ["a"]
    assert losses.totals() == {"items: closed": 1}


def test_closing_while_the_exporter_hangs_counts_what_is_left(losses: Losses) -> None:
    """The process ends in time, and says what did not get out."""
    stuck, entered = threading.Event(), threading.Event()

    def export(items: Sequence[str]) -> bool:
        entered.set()
        return stuck.wait(5) and bool(items)

    batch = batch_of(export, losses, SLOW)
    batch.add("a")
    batch.add("b")
    assert entered.wait(5)
    batch.add("c")
    assert not batch.close(0.01)
    stuck.set()
    assert losses.totals() == {"items: not exported before the end": 1}


def test_exports_are_not_traced_by_other_instrumentations(losses: Losses) -> None:
    """An instrumented HTTP client makes no spans of our own requests."""
    seen: list[object] = []
    key = vars(context)["_SUPPRESS_INSTRUMENTATION_KEY"]

    def export(items: Sequence[str]) -> bool:
        seen.append(context.get_value(key))
        return bool(items)

    batch = batch_of(export, losses)
    batch.add("a")
    assert batch.flush(5)
    assert seen == [True]
    assert context.get_value(key) is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform cannot fork")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_a_forked_child_exports_its_own_items_alone(losses: Losses) -> None:
    """A child has a thread of its own, and leaves what its parent had queued to the parent."""
    reading, writing = os.pipe()
    batch = batch_of(lambda items: os.write(writing, " ".join(items).encode()) > 0, losses)
    batch.add("parent")
    child = os.fork()
    if child == 0:
        batch.add("child")
        os._exit(0 if batch.flush(5) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert os.read(reading, 100) == b"child"
    assert batch.flush(5)
    assert os.read(reading, 100) == b"parent"
