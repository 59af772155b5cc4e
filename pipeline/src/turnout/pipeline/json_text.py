"""JSON as emitters write it. Pure."""

import json
import re

import msgspec

_BOM = b"\xef\xbb\xbf"

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""One escape in a text: a whole surrogate pair, half of one (the group), or any other."""


def parse_json(data: bytes | str) -> object:
    """The value of a JSON text; half a surrogate pair, as where JavaScript cuts a text inside an emoji, is read as U+FFFD.

    Raises:
        msgspec.DecodeError: when it is no JSON.
        UnicodeDecodeError: when its bytes are no UTF-8.
        RecursionError: when it is nested too deep.
    """
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        raw = data.encode() if isinstance(data, str) else data
        mended = mend(raw)
        if mended == raw:
            raise
        return msgspec.json.decode(mended)


def parse_log_json(data: bytes | str) -> object:
    """The value of a JSON text of a log, whoever wrote it: also with NaN, as Python writes it, or after a byte order mark.

    Raises:
        ValueError: when it is no JSON.
    """
    raw = (data.encode(errors="replace") if isinstance(data, str) else data).removeprefix(_BOM)
    try:
        return parse_json(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(mend(raw).decode())
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def mend(data: bytes) -> bytes:
    """The same JSON text with every half of a surrogate pair as U+FFFD."""
    return _ESCAPE.sub(_whole, data)


def _whole(escape: re.Match[bytes]) -> bytes:
    return escape[0] if escape[1] is None else rb"\ufffd"
