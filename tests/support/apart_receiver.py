"""A receiver with its converter process, as `turnout serve` runs it, whose process group is killed when a named point of a commit is reached for the nth time.

Arguments: lake folder, point (or "never"), count. It prints its port once it accepts.
"""

import os
import signal
import sys
import threading

from serving import HASTY
from turnout.pipeline.assemble import SECOND
from turnout.pipeline.receive.cadence import Cadence
from turnout.pipeline.receive.service import Options, Service


def main() -> None:
    """Serve until killed."""
    lake, point, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    left = [count]

    def reached(name: str) -> None:
        if name == point:
            left[0] -= 1
            if left[0] <= 0:
                os.killpg(0, signal.SIGKILL)

    # Every commit is soon followed by a state file, so that each point is reached often.
    cadence = Cadence(light=SECOND // 50, loaded=SECOND // 20, state_bytes=1)
    options = Options(
        port=0,
        grpc_port=None,
        segment_bytes=500_000,
        memory_bytes=1 << 30,
        pace=HASTY,
        cadence=cadence,
        apart=True,
        reached=reached,
    )
    service = Service(lake, options)
    service.start()
    sys.stdout.write(f"{service.http.port}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main()
