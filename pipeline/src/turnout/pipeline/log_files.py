"""Find the logs to import: files, folders, globs and standard input, and the kind of each."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import has_magic, iglob
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import IO

from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.importers.base import Damaged, Skipped, sample_of
from turnout.pipeline.importers.registry import detect, is_of_kind

AUTO = "auto"
"""The kind that is told from the first records of each file."""

STANDARD_INPUT = "-"
_LOG_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".traj", ".log"})


class ImportingError(TurnoutError):
    """An import that cannot begin: a path without a file, or a kind that no importer reads."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file to read, what messages call it, and whether it was named itself rather than found."""

    path: Path
    named: bool
    name: str


@contextmanager
def find_logs(paths: Sequence[str], stdin: IO[bytes] | None) -> Generator[list[LogFile]]:
    """Find the files; standard input becomes a file for as long as the import runs."""
    with TemporaryDirectory(prefix="turnout-import-") as folder:
        found: dict[Path, LogFile] = {}
        for number, path in enumerate(paths):
            for file in _expanded(path, Path(folder) / f"stdin-{number}.jsonl", stdin):
                found.setdefault(file.path.resolve(), file)
        yield list(found.values())


def _expanded(path: str, spool: Path, stdin: IO[bytes] | None) -> Iterator[LogFile]:
    if path == STANDARD_INPUT:
        if stdin is None:
            raise ImportingError("-: got no standard input, expected a log on it")
        with spool.open("wb") as copy:
            copyfileobj(stdin, copy)
        yield LogFile(spool, named=True, name=STANDARD_INPUT)
    elif Path(path).is_file():
        yield LogFile(Path(path), named=True, name=path)
    elif Path(path).is_dir():
        yield from (LogFile(file, named=False, name=str(file)) for file in _in_folder(Path(path)))
    elif has_magic(path) and (matches := sorted(iglob(path, recursive=True))):  # noqa: PTH207 - Path.glob takes no absolute pattern
        for match in map(Path, matches):
            found = _in_folder(match) if match.is_dir() else [match]
            yield from (LogFile(file, named=False, name=str(file)) for file in found)
    else:
        raise ImportingError(f"{path}: got nothing there, expected a file, a folder, a glob or -")


def _in_folder(folder: Path) -> list[Path]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts))


def kind_of(kind: str, file: LogFile) -> str | Damaged | Skipped:
    """Tell the kind of a file; one that was named itself is read as told."""
    path = file.path
    if kind != AUTO and file.named:
        return kind
    found = detect(path) if kind == AUTO else kind if is_of_kind(path, kind) else None
    if found is not None:
        return found
    if sample_of(path, 1):
        return Skipped(path=str(path), why="of no known kind" if kind == AUTO else f"not of the kind {kind}")
    if path.suffix.lower() not in _LOG_SUFFIXES or path.stat().st_size == 0:
        return Skipped(path=str(path), why="no log: no record in JSON")
    what = "got no whole record in JSON, expected a log"
    return kind if kind != AUTO else Damaged(path=str(path), what=what)
