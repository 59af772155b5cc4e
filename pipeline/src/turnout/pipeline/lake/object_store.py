"""A lake in an object store, reached through deltalake's own client; its settings come from the usual environment (``AWS_…``).

Files never change, so what is read is fetched once into a folder of this process. Writers cannot be kept waiting here: a change that
loses against another is done again.
"""

import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deltalake._internal import DeltaFileSystemHandler

from turnout.pipeline.lake.errors import LakeError
from turnout.pipeline.lake.store import FolderStore, Store, unwritable


def store_at(root: str) -> Store:
    """The store of a root: a folder, ``file://…``, or the URL of an object store."""
    return ObjectStore(root) if "://" in root and not root.startswith("file://") else FolderStore(root)


class ObjectStore:
    """A lake under a prefix of a bucket."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")
        self._cache = tempfile.TemporaryDirectory(prefix="turnout-lake-")
        try:
            self._client = DeltaFileSystemHandler(self.root)
        except Exception as error:
            raise LakeError(
                f"lake {self.root}: cannot be reached, got {error}, expected a bucket that this environment may read; "
                "check the address and the AWS_… variables"
            ) from error

    def url(self, table: str) -> str:
        """Where the Delta table of that name is."""
        return f"{self.root}/{table}"

    def folder(self, table: str) -> str:
        """The folder of this process that holds what was fetched."""
        return f"{self._cache.name}/{table}"

    def prepare(self) -> None:
        """Nothing: a prefix needs no making."""

    def put(self, table: str, path: str, data: bytes, *, durable: bool = True) -> None:
        """Write one new object; it is durable when it is there."""
        del durable
        self._write(f"{table}/{path}", data)

    @contextmanager
    def writing(self, table: str, path: str) -> Generator[str]:
        """A path in the folder of this process; what was written there is sent, and kept for reading."""
        target = Path(self.folder(table), path)
        target.parent.mkdir(parents=True, exist_ok=True)
        yield str(target)
        self._write(f"{table}/{path}", target.read_bytes())

    def local(self, table: str, path: str) -> str:
        """Fetch a file, once."""
        target = Path(self.folder(table), path)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = target.with_name(f"{target.name}.new")
            draft.write_bytes(self._read(f"{table}/{path}"))
            draft.replace(target)
        return str(target)

    def has(self, table: str, path: str) -> bool:
        """Whether there is such an object."""
        try:
            self._client.open_input_file(f"{table}/{path}")
        except FileNotFoundError:
            return False
        return True

    def data_files(self, table: str) -> Iterator[str]:
        """The objects below a table but its log, relative to the table."""
        below = f"{table}/"
        for found in self._client.get_file_info_selector(table, allow_not_found=True, recursive=True):
            path = found.path.removeprefix(below)
            if found.is_file and not path.startswith("_delta_log/"):
                yield path

    def delete(self, path: str) -> int:
        """Delete one object; says how large it was."""
        size = self._client.open_input_file(path).size()
        self._client.delete_file(path)
        return size

    def keep(self, name: str, data: bytes) -> None:
        """Write a small object of our own."""
        self._write(name, data)

    def kept(self, name: str) -> bytes | None:
        """What `keep` wrote last."""
        try:
            return self._read(name)
        except FileNotFoundError:
            return None

    def seal(self, table: str, version: int) -> None:
        """Nothing: an object that is there is durable."""

    @contextmanager
    def lock(self) -> Generator[None]:
        """Nothing: every change is checked against the version it was decided on."""
        yield

    def _read(self, path: str) -> bytes:
        file = self._client.open_input_file(path)
        return bytes(file.read(file.size()))

    def _write(self, path: str, data: bytes) -> None:
        try:
            stream: Any = self._client.open_output_stream(path)
            stream.write(data)
            stream.close()
        except OSError as error:
            raise unwritable(self.root, error) from error
