"""The process that holds a lake for a converter: does what it is asked, one thing after the other, until nobody asks any more."""

import sys
from collections.abc import Callable
from socket import socket

from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.lake import Lake
from turnout.pipeline.receive.below import end_with_parent, ignore_signals, seldom_collect
from turnout.pipeline.receive.judging import Judged
from turnout.pipeline.receive.lakes import Ask, Reply
from turnout.pipeline.receive.link import Closed, Link


def main() -> None:
    """Serve; the arguments are the number of the socket and the root of the lake."""
    ignore_signals()
    end_with_parent()
    seldom_collect()
    link = Link(socket(fileno=int(sys.argv[1])))
    opened: list[Lake] = []
    gathered = [Judged()]

    def lake() -> Lake:
        # At the first question: what is wrong with its name is then an answer.
        if not opened:
            opened.append(Lake.open(sys.argv[2]))
        return opened[0]

    try:
        while True:
            ask = link.receive(Ask)
            link.send(_answered(lake, ask, gathered))
    except Closed:
        for held in opened:
            held.close()


def _answered(lake: Callable[[], Lake], ask: Ask, gathered: list[Judged]) -> Reply:
    try:
        return _done(lake(), ask, gathered)
    except (TurnoutError, OSError) as error:
        return Reply(error=str(error))


def _done(lake: Lake, ask: Ask, gathered: list[Judged]) -> Reply:
    if ask.prepare:
        lake.prepare()
        return Reply()
    if ask.position_of:
        return Reply(position=lake.position(ask.position_of))
    if ask.facts_of is not None:
        return Reply(facts=lake.facts(ask.facts_of))
    gathered[-1].add(ask.turns)
    if ask.more:
        return Reply()
    judged = gathered.pop()
    gathered.append(Judged())
    written = lake.write(
        judged.turns, position=ask.position, supersedes=ask.supersedes, withdrawn=ask.withdrawn, patient=ask.patient
    )
    return Reply(taken=judged.taken(written))


if __name__ == "__main__":
    main()
