"""Coverage-guided fuzzing of what the receiver reads: whatever bytes come, they are refused, or read back by as many records as were acknowledged.

Not part of the tests: `make fuzz` runs it for a while. It needs atheris (``pip install atheris``; Linux), an optional tool; without it the
seeded bodies of `tests/receive/test_faults.py` are the same check without guidance. A finding is written to ``crash-…``.
"""

import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

_MISSING = "fuzz: atheris is not installed; install it with `pip install atheris`, or run `pytest tests/receive/test_faults.py`, which needs none"


def main() -> None:
    """Fuzz until stopped; arguments are those of libFuzzer, such as ``-max_total_time=60``."""
    if find_spec("atheris") is None:
        sys.exit(_MISSING)
    atheris: Any = import_module("atheris")
    with atheris.instrument_imports(include=["turnout.pipeline", "turnout.outcomes"]):
        from mutated_bodies import Sent, good_bodies, taken
        from turnout.pipeline.receive.bodies import Encoding, Signal

    kinds = [(signal, encoding) for signal in Signal for encoding in Encoding]

    def look(data: bytes) -> None:
        if data:
            signal, encoding = kinds[data[0] % len(kinds)]
            taken(Sent(signal, encoding, data[1:]))

    with tempfile.TemporaryDirectory() as seeds:
        for number, sent in enumerate(good_bodies()):
            kind = kinds.index((sent.signal, sent.encoding))
            Path(seeds, str(number)).write_bytes(bytes([kind]) + sent.payload)
        atheris.Setup([*sys.argv, seeds], look)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
