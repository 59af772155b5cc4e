"""Which processes of this machine are gone: a turn whose process died will never end by itself."""

import os
import socket
from collections.abc import Iterable

from turnout.pipeline.grouping import Process


def gone(processes: Iterable[Process], host: str | None = None) -> set[Process]:
    """Those that ran on this host and run no more; of another host nothing is known."""
    here = socket.gethostname() if host is None else host
    return {process for process in processes if process[0] == here and not _runs(process[1])}


def _runs(pid: int) -> bool:
    if pid <= 0:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
