"""A worker that dies in the middle of its turn: ``python -m turnout.demo.doomed ENDPOINT SEED``."""

import asyncio
import os
import sys
import uuid

from turnout.demo.history import ENVIRONMENT
from turnout.demo.live import DEATH_STATUS, doomed_plan
from turnout.demo.play import play_until_death
from turnout.instrumentation import Recorder, otlp_sink
from turnout.runtime.clock import SystemClock


async def work(endpoint: str, seed: int) -> None:
    """Take a turn up to its last request, see that what was recorded is sent, and be gone without a word."""
    planned, sink = doomed_plan(seed), otlp_sink(endpoint)
    recorder = Recorder(sink, service=planned.agent.service, environment=ENVIRONMENT)
    await play_until_death(planned, str(uuid.uuid4()), recorder, SystemClock())
    await asyncio.to_thread(sink.flush, 5.0)
    os._exit(DEATH_STATUS)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], int(sys.argv[2])))
