"""Names of lakes: what ``--lake`` may be, before anything is opened. A name that can be no lake is refused, never read as an empty one."""

import re
from pathlib import Path
from typing import Final

from turnout.pipeline.lake.errors import LakeError

_NAME_ANOTHER: Final = "name one with --lake or TURNOUT_LAKE"
_EXPECTED: Final = "expected a folder, or the URL of an object store such as s3://bucket/lake"
_URL: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?P<slashes>/*)(?P<rest>.*)", re.DOTALL)
_SLASHES: Final = 2


def folder_of(root: str) -> Path | None:
    """The folder that a root names; None where it is the URL of an object store.

    Raises:
        LakeError: for a name that can be neither.
    """
    if not root.strip():
        raise LakeError(f"lake: got an empty name, {_EXPECTED}; {_NAME_ANOTHER}")
    if "://" not in root and not root.startswith(_SCHEMES):
        return _checked(root, Path(root))
    url = _URL.fullmatch(root)
    if url is None or len(url["slashes"]) < _SLASHES or not url["rest"].strip("/"):
        raise LakeError(f"lake {root}: got a URL that names no place, {_EXPECTED}; {_NAME_ANOTHER}")
    if url["scheme"].lower() == "file":
        return _checked(root, Path(url["slashes"][_SLASHES:] + url["rest"]))
    return None


_SCHEMES: Final = ("file:", "s3:", "s3a:", "gs:", "az:", "abfs:", "abfss:")
"""What is meant as a URL even where its slashes are missing."""


def _checked(root: str, folder: Path) -> Path:
    """A folder, or a path where one can be made."""
    whole = folder.absolute()
    try:
        stands = next(path for path in (whole, *whole.parents) if path.exists())
    except OSError as error:
        raise LakeError(
            f"lake {root}: cannot be looked at, got {error.strerror!r}; give access, or {_ANOTHER}"
        ) from error
    if not stands.is_dir():
        raise LakeError(f"lake {root}: got a file ({stands}), {_EXPECTED}; {_NAME_ANOTHER}")
    return whole


_ANOTHER: Final = "name another with --lake or TURNOUT_LAKE"
