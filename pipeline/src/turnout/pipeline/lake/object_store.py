"""A lake in an object store, reached through deltalake's own client; its settings come from the usual environment (``AWS_…``).

Files never change, so what is read is fetched once into a folder of this process. Writers cannot be kept waiting here: a change that
loses against another is done again.
"""

import os
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from deltalake._internal import DeltaFileSystemHandler

from turnout.pipeline.lake.errors import LakeError, reason_of
from turnout.pipeline.lake.roots import folder_of
from turnout.pipeline.lake.store import FolderStore, Store

# Why a bucket cannot be reached is said once, in the error; the client's own log would say it several times over before.
os.environ.setdefault("RUST_LOG", "off")

BOUNDS: Final = {"connect_timeout": "5s", "timeout": "30s", "max_retries": "4", "retry_timeout": "60s"}
"""How long one request to an object store may take, and how often it is tried again."""

_REMEDY: Final = (
    "give this environment access (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and, where it is not Amazon's, AWS_ENDPOINT_URL), "
    "or name another with --lake or TURNOUT_LAKE"
)


def store_at(root: str) -> Store:
    """The store of a root: a folder, ``file://…``, or the URL of an object store.

    Raises:
        LakeError: for a name that can be no lake.
    """
    folder = folder_of(root)
    return ObjectStore(root) if folder is None else FolderStore(str(folder))


class ObjectStore:
    """A lake under a prefix of a bucket."""

    options: Mapping[str, str] = BOUNDS
    remedy = _REMEDY

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")
        self._cache = tempfile.TemporaryDirectory(prefix="turnout-lake-")
        with self._tried("reached"):
            self._client = DeltaFileSystemHandler(self.root, BOUNDS)

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
        return self.size(table, path) is not None

    def size(self, table: str, path: str) -> int | None:
        """How many bytes an object has; None where there is no such object."""
        try:
            with self._tried("read"):
                return int(self._client.open_input_file(f"{table}/{path}").size())
        except FileNotFoundError:
            return None

    def listed(self, folder: str) -> Iterator[str]:
        """Nothing: deltalake's client lists objects through pyarrow alone, which is no requirement."""
        del folder
        return iter(())

    def delete(self, path: str) -> int:
        """Delete one object; says how large it was."""
        with self._tried("swept"):
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
        with self._tried("read"):
            file = self._client.open_input_file(path)
            return bytes(file.read(file.size()))

    def _write(self, path: str, data: bytes) -> None:
        with self._tried("written"):
            stream: Any = self._client.open_output_stream(path)
            stream.write(data)
            stream.close()

    @contextmanager
    def _tried(self, what: str) -> Generator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except Exception as error:
            raise LakeError(f"lake {self.root}: cannot be {what}, got {reason_of(error)!r}; {self.remedy}") from error
