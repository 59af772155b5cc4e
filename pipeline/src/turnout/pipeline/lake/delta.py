"""One Delta table: what it holds at a version, and one atomic commit of added and removed files.

A commit takes hold only on the version that was read (no silent rebase), so that what was decided from the table is still true when
it lands. The versions of the other tables, and the positions of journals, are application transactions of the `turns` table:
they are part of its state, and no clean-up of the log loses them.
"""

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import polars as pl
from deltalake import CommitProperties, DeltaTable, Field, PostCommitHookProperties, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.schema import ArrayType, PrimitiveType
from deltalake.transaction import AddAction, RemoveAction

from turnout.pipeline.lake.errors import ConflictError, LakeError, reason_of
from turnout.pipeline.lake.files import DataFile, data_file
from turnout.pipeline.lake.parquet import BOUNDED, NewFile
from turnout.pipeline.lake.store import Store
from turnout.pipeline.schema import INSTANT, SCHEMA_VERSION, TABLES

_SCHEMA_KEY: Final = "turnout.schemaVersion"
_UNIFORM_KEY: Final = "turnout.uniform"
_CONFIGURATION: Final[Mapping[str, str | None]] = {
    _SCHEMA_KEY: str(SCHEMA_VERSION),
    _UNIFORM_KEY: "true",
    "delta.checkpointInterval": "100",
    "delta.logRetentionDuration": "interval 6 hours",
    "delta.deletedFileRetentionDuration": "interval 1 hours",
}
_PRIMITIVES: Final[Mapping[object, str]] = {
    pl.String: "string",
    pl.Boolean: "boolean",
    pl.Int64: "long",
    pl.Float64: "double",
    INSTANT: "timestamp",
}
# The log is cleaned by `tidy` alone: only it knows which versions the newest turns commit names.
_NO_CLEANING: Final = PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False)


class Table:
    """A handle on one Delta table at one version."""

    def __init__(self, name: str, store: Store, handle: DeltaTable) -> None:
        self.name = name
        self._store = store
        self._handle = handle
        self._files: tuple[int, dict[str, DataFile]] | None = None

    @classmethod
    def find(cls, name: str, store: Store, version: int | None = None) -> "Table | None":
        """Open a table, at its newest version or a given one; None where there is no such table.

        Raises:
            LakeError: when a newer turnout made it, or when it cannot be read.
        """
        try:
            with _tried(store, name, "read"):
                handle = DeltaTable(store.url(name), version=version, storage_options=dict(store.options))
        except TableNotFoundError:
            return None
        _refuse_newer(store.root, handle.metadata().configuration)
        return cls(name, store, handle)

    @classmethod
    def make(cls, name: str, store: Store) -> "Table":
        """Open a table, made empty if it is not there."""
        found = cls.find(name, store)
        if found is not None:
            return found
        with _tried(store, name, "made"):
            DeltaTable.create(
                store.url(name),
                _schema_of(TABLES[name]),
                mode="ignore",
                partition_by=_partition(name),
                configuration={**_CONFIGURATION, "delta.dataSkippingStatsColumns": ",".join(BOUNDED[name])},
                storage_options=dict(store.options),
                raise_if_key_not_exists=False,
            )
            handle = DeltaTable(store.url(name), storage_options=dict(store.options))
        return cls(name, store, handle)

    @property
    def version(self) -> int:
        """The version this handle stands at."""
        return self._handle.version()

    @property
    def uniform(self) -> bool:
        """Whether every file has every column of the schema."""
        return self._handle.metadata().configuration.get(_UNIFORM_KEY) == "true" and not self.lacks_columns

    @property
    def lacks_columns(self) -> bool:
        """Whether an older turnout made it."""
        return bool(self._missing())

    def add_columns(self) -> None:
        """Add the columns that it lacks; files that are there already read as null in them."""
        missing = self._missing()
        if missing:
            self._handle.alter.add_columns(missing)
            changed = {_SCHEMA_KEY: str(SCHEMA_VERSION), _UNIFORM_KEY: "false"}
            self._handle.alter.set_table_properties(changed, raise_if_not_exists=False)
            self.refresh()

    def _missing(self) -> list[Field]:
        known = {field.name for field in self._handle.schema().fields}
        return [field for field in _schema_of(TABLES[self.name]).fields if field.name not in known]

    def refresh(self) -> None:
        """Bring the handle up to the newest version."""
        with _tried(self._store, self.name, "read"):
            try:
                self._handle.update_incremental()
            except DeltaError:
                # The log was cleaned past the version of this handle.
                self._handle = self._opened_again()

    def _opened_again(self) -> DeltaTable:
        try:
            return DeltaTable(self._store.url(self.name), storage_options=dict(self._store.options))
        except TableNotFoundError as error:
            raise LakeError(
                f"lake {self._store.root}: table {self.name} is gone, it was there a moment ago; put the lake back, or open another one"
            ) from error

    def transaction(self, application: str) -> int | None:
        """The newest version that an application recorded in this table."""
        with _tried(self._store, self.name, "read"):
            return self._handle.transaction_version(application)

    def files(self) -> tuple[DataFile, ...]:
        """The files of this version, by path."""
        if self._files is None or self._files[0] != self.version:
            actions = pl.DataFrame(self._handle.get_add_actions(flatten=True))
            files = [data_file(self.name, row) for row in actions.iter_rows(named=True)]
            self._files = self.version, {file.path: file for file in sorted(files, key=lambda file: file.path)}
        return tuple(self._files[1].values())

    def strays(self) -> set[str]:
        """The files in its folder that are not part of this version."""
        with _tried(self._store, self.name, "read"):
            listed = self._handle.vacuum(0, dry_run=True, enforce_retention_duration=False, full=True)
        return set(listed)

    def commit(
        self,
        added: Sequence[NewFile] = (),
        removed: Sequence[DataFile] = (),
        *,
        transactions: Mapping[str, int] | None = None,
        rearranged: bool = False,
    ) -> None:
        """Add and remove files in one commit on top of this handle's version, and bring the handle up to it.

        Args:
            added: files that are on disk already.
            removed: files of this version.
            transactions: versions by application, kept in the state of the table and shown in its history.
            rearranged: the rows stay the same and only lie in other files.

        Raises:
            ConflictError: when somebody else committed since the handle was read.
        """
        now = int(time.time() * 1000)
        named = transactions or {}
        actions: list[AddAction | RemoveAction] = [
            AddAction(new.file.path, new.file.size, _values(new.file.date), now, not rearranged, new.stats)
            for new in added
        ]
        actions += [RemoveAction(file.path, not rearranged, now, file.size, _values(file.date)) for file in removed]
        try:
            self._handle.create_write_transaction(
                actions,
                "append",
                self._handle.schema(),
                _partition(self.name),
                commit_properties=CommitProperties(
                    custom_metadata={application: str(version) for application, version in named.items()},
                    max_commit_retries=0,
                    app_transactions=[Transaction(application, version) for application, version in named.items()],
                ),
                post_commithook_properties=_NO_CLEANING,
            )
        except CommitFailedError as error:
            raise ConflictError(self.name) from error
        except (DeltaError, OSError) as error:
            raise LakeError(
                f"lake {self._store.root}: table {self.name} cannot be committed to, got {reason_of(error)!r}; "
                "make room or give access, then run it again: nothing of this write is in the lake"
            ) from error
        before = self._files
        self._handle.update_incremental()
        self._store.seal(self.name, self.version)
        if before is not None and self.version == before[0] + 1:
            gone = {file.path for file in removed}
            kept = {path: file for path, file in before[1].items() if path not in gone}
            self._files = self.version, kept | {new.file.path: new.file for new in added}

    def return_to(self, version: int) -> None:
        """Undo what was committed after a version, as one more commit."""
        with _tried(self._store, self.name, "settled"):
            try:
                self._handle.restore(
                    version,
                    commit_properties=CommitProperties(max_commit_retries=0),
                    post_commithook_properties=_NO_CLEANING,
                )
            except CommitFailedError as error:
                raise ConflictError(self.name) from error
            self._handle.update_incremental()
        self._store.seal(self.name, self.version)

    def tidy(self) -> None:
        """Make a checkpoint and drop the part of the log that has outlived its retention."""
        with _tried(self._store, self.name, "tidied"):
            self._handle.create_checkpoint()
            self._handle.cleanup_metadata()


@contextmanager
def _tried(store: Store, name: str, what: str) -> Generator[None]:
    """One sentence for what deltalake has to say; a table that is not there is the caller's business."""
    try:
        yield
    except TableNotFoundError:
        raise
    except (DeltaError, OSError) as error:
        raise LakeError(
            f"lake {store.root}: table {name} cannot be {what}, got {reason_of(error)!r}; {store.remedy}"
        ) from error


def _refuse_newer(root: str, configuration: Mapping[str, str | None]) -> None:
    made_by = int(configuration.get(_SCHEMA_KEY) or 1)
    if made_by > SCHEMA_VERSION:
        raise LakeError(
            f"lake {root}: made by a newer turnout, got schema version {made_by}, expected at most {SCHEMA_VERSION}; "
            "upgrade turnout, or name another lake with --lake or TURNOUT_LAKE"
        )


def _partition(table: str) -> list[str]:
    return ["date"] if "date" in TABLES[table] else []


def _values(date: str) -> dict[str, str | None]:
    return {"date": date} if date else {}


def _schema_of(schema: pl.Schema) -> Schema:
    return Schema([Field(name, _type_of(kind), nullable=True) for name, kind in schema.items()])


def _type_of(kind: object) -> PrimitiveType | ArrayType:
    if isinstance(kind, pl.List):
        return ArrayType(PrimitiveType("string"))
    return PrimitiveType(next(name for ours, name in _PRIMITIVES.items() if ours == kind))
