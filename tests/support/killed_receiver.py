"""Receivers that end themselves by SIGKILL when a named point of a commit is reached for the nth time.

Each line on standard input, JSON ``[lake folder, point or "never", count]``, starts one as a process group of its own, forked from this process, which
has imported everything, so that fifty are a matter of a minute. Each is answered by ``pid port``; the port is 0 where it died before it accepted.
"""

import json
import os
import signal
import sys
import threading

from serving import HASTY
from turnout.pipeline.assemble import SECOND
from turnout.pipeline.receive.cadence import Cadence
from turnout.pipeline.receive.service import Options, Service

POINTS = (
    "journal.before_write",
    "journal.before_sync",
    "journal.after_sync",
    "convert.before_write",
    "convert.after_write",
    "convert.before_state",
    "convert.after_state",
    "journal.release",
)


def serve(lake: str, point: str, count: int, said: int) -> None:
    """Serve until killed; the port is written to a descriptor once it accepts."""
    left = [count]

    def reached(name: str) -> None:
        if name == point:
            left[0] -= 1
            if left[0] <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    # Every commit is soon followed by a state file, so that each point is reached often.
    cadence = Cadence(light=SECOND // 50, loaded=SECOND // 20, state_bytes=1)
    # The bound is the default's double: what was imported before the fork counts in each of them.
    options = Options(
        port=0,
        grpc_port=None,
        segment_bytes=500_000,
        memory_bytes=1 << 30,
        pace=HASTY,
        cadence=cadence,
        reached=reached,
    )
    service = Service(lake, options)
    service.start()
    os.write(said, str(service.http.port).encode())
    os.close(said)
    threading.Event().wait()


def forked(lake: str, point: str, count: int) -> tuple[int, int]:
    """Start one; gives its process id, which is that of its group, and its port."""
    heard, said = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(heard)
            serve(lake, point, count, said)
        finally:
            os._exit(1)
    os.close(said)
    with os.fdopen(heard, "rb") as stream:
        port = stream.read()
    return pid, int(port or b"0")


def main() -> None:
    """Start one for each line."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who is dead is gone at once, and nobody need wait for it
    for line in sys.stdin:
        pid, port = forked(*json.loads(line))
        sys.stdout.write(f"{pid} {port}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
