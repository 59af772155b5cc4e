"""Where the files of a lake are: a local folder here, an object store in `object_store`.

A store puts whole new files and never changes one; what is part of the lake is decided by the Delta log alone.
"""

import fcntl
import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from turnout.pipeline.lake.errors import LakeError

_LOCK = "_turnout.lock"


class Store(Protocol):
    """What a lake asks of the place it is in."""

    root: str
    options: Mapping[str, str]
    """What deltalake is to be told about the place."""
    remedy: str
    """What to do when it cannot be reached."""

    def url(self, table: str) -> str:
        """Where the Delta table of that name is."""
        ...

    def folder(self, table: str) -> str:
        """The local folder in which `local` gives the files of a table."""
        ...

    def prepare(self) -> None:
        """Make the root.

        Raises:
            LakeError: when it cannot be written.
        """
        ...

    def put(self, table: str, path: str, data: bytes, *, durable: bool = True) -> None:
        """Write one new file, and wait until it is on disk where it must not be lost.

        Raises:
            LakeError: when it cannot be written.
        """
        ...

    def writing(self, table: str, path: str) -> AbstractContextManager[str]:
        """A local path to write one new file to; afterwards it is where it belongs, and on disk.

        Raises:
            LakeError: when it cannot be written.
        """
        ...

    def local(self, table: str, path: str) -> str:
        """A local path with the bytes of a file of the lake.

        Raises:
            OSError: when there is no such file.
        """
        ...

    def has(self, table: str, path: str) -> bool:
        """Whether there is such a file."""
        ...

    def size(self, table: str, path: str) -> int | None:
        """How many bytes a file has; None where there is no such file."""
        ...

    def listed(self, folder: str) -> Iterator[str]:
        """The files below a folder of our own, relative to it, where the place can be asked for a list; else none."""
        ...

    def delete(self, path: str) -> int:
        """Delete one file, named from the root; says how large it was."""
        ...

    def keep(self, name: str, data: bytes) -> None:
        """Write a small file of our own at the root, whole or not at all."""
        ...

    def kept(self, name: str) -> bytes | None:
        """What `keep` wrote last."""
        ...

    def seal(self, table: str, version: int) -> None:
        """Wait until a commit of a table is on disk."""
        ...

    def lock(self) -> AbstractContextManager[None]:
        """Keep other writers waiting, as far as they can be made to."""
        ...


class FolderStore:
    """A lake in a local folder."""

    options: Mapping[str, str] = MappingProxyType({})
    remedy = "give access or restore it from a copy, or name another with --lake or TURNOUT_LAKE"

    def __init__(self, root: str) -> None:
        self.root = str(Path(root).absolute())

    def url(self, table: str) -> str:
        """Where the Delta table of that name is."""
        return f"{self.root}/{table}"

    def folder(self, table: str) -> str:
        """The folder itself."""
        return f"{self.root}/{table}"

    def prepare(self) -> None:
        """Make the root.

        Raises:
            LakeError: when it cannot be written.
        """
        try:
            Path(self.root).mkdir(parents=True, exist_ok=True)
            with Path(self.root, _LOCK).open("ab"):
                pass
        except OSError as error:
            raise unwritable(self.root, error) from error

    def put(self, table: str, path: str, data: bytes, *, durable: bool = True) -> None:
        """Write one new file, and wait until it is on disk where it must not be lost."""
        target = Path(self.root, table, path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.write(data)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
        except OSError as error:
            raise unwritable(self.root, error) from error

    @contextmanager
    def writing(self, table: str, path: str) -> Generator[str]:
        """The path itself."""
        target = Path(self.root, table, path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            yield str(target)
            _sync(target)
        except OSError as error:
            raise unwritable(self.root, error) from error

    def local(self, table: str, path: str) -> str:
        """The file itself."""
        return f"{self.root}/{table}/{path}"

    def has(self, table: str, path: str) -> bool:
        """Whether there is such a file."""
        return Path(self.root, table, path).exists()

    def size(self, table: str, path: str) -> int | None:
        """How many bytes a file has; None where there is no such file."""
        try:
            return Path(self.root, table, path).stat().st_size
        except FileNotFoundError:
            return None

    def listed(self, folder: str) -> Iterator[str]:
        """The files below a folder of our own, relative to it."""
        below = Path(self.root, folder)
        return (path.relative_to(below).as_posix() for path in below.rglob("*.*") if path.is_file())

    def delete(self, path: str) -> int:
        """Delete one file, named from the root; says how large it was."""
        target = Path(self.root, path)
        size = target.stat().st_size
        target.unlink()
        return size

    def keep(self, name: str, data: bytes) -> None:
        """Write a small file of our own at the root, whole or not at all."""
        draft = Path(self.root, f"{name}.new")
        draft.write_bytes(data)
        draft.replace(Path(self.root, name))

    def kept(self, name: str) -> bytes | None:
        """What `keep` wrote last."""
        try:
            return Path(self.root, name).read_bytes()
        except FileNotFoundError:
            return None

    def seal(self, table: str, version: int) -> None:
        """Wait until a commit, and its name, are on disk."""
        log = Path(self.root, table, "_delta_log")
        for path in (log / f"{version:020}.json", log):
            _sync(path)

    @contextmanager
    def lock(self) -> Generator[None]:
        """Keep other writers waiting; the operating system lets go when the process dies, however it dies."""
        self.prepare()
        with Path(self.root, _LOCK).open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def unwritable(root: str, error: OSError) -> LakeError:
    """The one sentence for a root that cannot be written."""
    reason = error.strerror or str(error)
    return LakeError(
        f"lake {root}: cannot be written, got {reason!r}, expected a folder or object store that can; "
        "name another with --lake or TURNOUT_LAKE"
    )


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
