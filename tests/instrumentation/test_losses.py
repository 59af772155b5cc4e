"""Losses are counted, and said at most once a minute."""

from turnout.instrumentation import Losses


def test_the_first_loss_is_said_at_once_and_the_rest_together_a_minute_later() -> None:
    """A storm of losses is two lines, and no loss is missing from them."""
    now = 0.0
    said: list[str] = []
    losses = Losses(clock=lambda: now, warn=said.append)
    losses.count("spans: queue full")
    for _ in range(50):
        losses.count("spans: queue full", 2)
    now = 59.9
    losses.count("events: export failed", 7)
    assert said == ["telemetry lost or incomplete since the last report: 1 x spans: queue full"]
    now = 60.0
    losses.report_due()
    assert said[1:] == [
        "telemetry lost or incomplete since the last report: 7 x events: export failed, 100 x spans: queue full"
    ]
    losses.report_due()
    assert len(said) == 2
    assert losses.totals() == {"spans: queue full": 101, "events: export failed": 7}


def test_a_fault_is_named_by_its_class_and_place_and_not_by_its_words() -> None:
    """The text of an exception may quote content, so it is not said."""
    said: list[str] = []
    losses = Losses(warn=said.append)
    try:
        int("CANARY")
    except ValueError as error:
        losses.fault("TurnHandle.stop", error)
    assert said[0].startswith(
        "telemetry lost or incomplete since the last report: 1 x TurnHandle.stop: ValueError at test_losses.py:"
    )
    assert "CANARY" not in said[0]
