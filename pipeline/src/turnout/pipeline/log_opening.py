"""Open a log as bytes of UTF-8, however it was kept: plain, gzipped, or in the UTF-16 that some shells redirect into."""

import gzip
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Generator
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import IO

BROKEN_OFF = (EOFError, zlib.error)
"""What reading raises where gzipped data is not whole."""

_GZIP = b"\x1f\x8b"
_UTF16 = (BOM_UTF16_LE, BOM_UTF16_BE)
_HEAD = 4096


@contextmanager
def opened(path: Path) -> Generator[IO[bytes]]:
    """Open a file for reading from its start.

    Raises:
        OSError: when it cannot be read, or its compressed part ends too early or is damaged.
    """
    with path.open("rb") as stream:
        head = stream.read(len(_GZIP))
        stream.seek(0)
        if head == _GZIP:
            try:
                with gzip.open(stream) as inner:
                    yield BufferedReader(inner)
            except BROKEN_OFF as error:
                raise OSError(0, "gzip data that is not whole", str(path)) from error
        elif head in _UTF16:
            yield BytesIO(stream.read().decode("utf-16", errors="replace").encode())
        else:
            yield stream


def is_text(path: Path) -> bool:
    """Say whether a file may be text: its beginning holds no byte that no text holds."""
    with opened(path) as stream:
        return b"\0" not in stream.read(_HEAD)
