"""How a process below the receiver lives: it is told when to stop, and ends when nobody is there to tell it."""

import gc
import os
import signal
import threading
import time

ALLOCATORS = {"MALLOC_ARENA_MAX": "1", "_RJEM_MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0,narenas:1"}
"""For the environment of such a process: what is freed is given back at once, since the bound on memory is that of all processes together."""

_GARBAGE = (200_000, 20, 100)

ABANDONED = 70
"""The exit status of a process that ended because the one that it works for was gone."""

_LOOK_SECONDS = 0.05


def seldom_collect() -> None:
    """Look for cycles less often: turns come and go by the ten thousand and hold none, and at the usual pace looking costs up to a third of all work."""
    gc.freeze()
    gc.set_threshold(*_GARBAGE)


def ignore_signals() -> None:
    """Leave signals from the terminal to the receiver, which gets them too and says when to stop."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)


def end_with_parent() -> None:
    """End this process soon after the one that started it, also in the midst of a long piece of work."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_SECONDS)
        os._exit(ABANDONED)

    threading.Thread(target=watch, name="turnout-watch", daemon=True).start()
