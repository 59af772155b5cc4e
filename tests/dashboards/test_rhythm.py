"""Who has gone silent."""

from datetime import UTC, datetime, timedelta

import polars as pl

from turnout.dashboards.rhythm import Rhythm, rhythms, silences

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


def rhythm(source: str, age: float, gap: float | None = 10.0, longest_pause: float | None = 240.0) -> Rhythm:
    """A source with a turn every ten seconds and no pause above four minutes."""
    return Rhythm(source=source, age=age, gap=gap, longest_pause=longest_pause)


def test_a_rhythm_is_read_from_arrivals() -> None:
    """The gap is that of the last busy hour; one turn has none."""
    frame = pl.DataFrame(
        {
            "source": ["own", None],
            "last_received": [NOW - timedelta(seconds=12), NOW - timedelta(hours=3)],
            "last_hour": [360, 1],
            "longest_pause": [240.0, None],
        }
    )
    assert rhythms(frame, NOW) == (
        Rhythm(source="own", age=12.0, gap=10.0, longest_pause=240.0),
        Rhythm(source="not recorded", age=10_800.0, gap=None, longest_pause=None),
    )


def test_words_say_the_age_and_shout_only_when_it_is_unusual() -> None:
    """A pause that happens every day is told and not shouted."""
    assert (rhythm("own", 12).words, rhythm("own", 12).unusual) == ("12 s ago", False)
    assert (rhythm("own", 200).words, rhythm("own", 200).unusual) == ("3 min ago, lately every 10 s", False)
    assert (rhythm("own", 900).words, rhythm("own", 900).unusual) == ("silent for 15 min", True)


def test_a_source_that_was_never_so_quiet_is_named() -> None:
    """Each with its longest pause, whatever the others do."""
    assert silences([rhythm("own", 900), rhythm("gen_ai", 3)]) == (
        "Silence from own: nothing for 15 min; its longest pause of the week was 4 min",
    )


def test_all_sources_quiet_at_once_is_silence() -> None:
    """Together they say what none of them says alone; one that was heard of hours earlier has no part in it."""
    one, two = rhythm("own", 100, gap=30.0), rhythm("gen_ai", 130, gap=30.0)
    assert (one.quiet, two.quiet) == (False, False)
    long_gone = rhythm("nightly", 40_000, gap=1.0, longest_pause=90_000.0)
    assert silences([one, two, long_gone]) == ()
    assert silences([rhythm("own", 110, gap=30.0), two, long_gone]) == (
        "Silence: no telemetry from any source for 110 s; a turn arrived every 15 s until then",
    )


def test_one_quiet_source_among_busy_ones_is_no_silence() -> None:
    """Neither are sources whose rhythm is not known, nor no sources at all."""
    assert silences([rhythm("own", 200), rhythm("gen_ai", 3)]) == ()
    assert silences([rhythm("import", 90_000, gap=None, longest_pause=None)]) == ()
    assert silences([]) == ()
