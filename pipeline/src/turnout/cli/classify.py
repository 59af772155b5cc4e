"""``turnout classify``: turn facts in, verdicts out, no lake."""

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from turnout.pipeline.errors import TurnoutError

if TYPE_CHECKING:
    from turnout.pipeline.classify_lines import Complaint, Tally
    from turnout.pipeline.importers import Importer

_STANDARD_INPUT = "-"


@click.command("classify")
@click.option("--kind", help="Read logs of this kind, as `turnout import` does, instead of turn facts.")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
def command(kind: str | None, files: tuple[str, ...]) -> None:
    """Say how each turn of a file ended: turn facts (JSON Lines) in, one verdict a line out, in the same order.

    A FILE of - is standard input. A line that is not valid gets one line on standard error and is counted; the rest goes on, and the
    exit status is then 1. With --kind each row also has file, source, models, tools, conversation_id and parent_turn_id.
    """
    from turnout.pipeline.classify_lines import Complaint, Tally, unknown_keys_text

    tally = Tally()
    out = sys.stdout.buffer
    for name in files:
        for item in _verdicts(name, kind, tally):
            if isinstance(item, Complaint):
                click.echo(item.text, err=True)
            else:
                out.write(item + b"\n")
    out.flush()
    if tally.unknown_keys:
        click.echo(unknown_keys_text(tally.unknown_keys), err=True)
    if tally.damaged:
        click.echo(f"{tally.damaged} not valid, {tally.verdicts} classified", err=True)
        sys.exit(1)


def _verdicts(name: str, kind: str | None, tally: "Tally") -> Iterator["bytes | Complaint"]:
    from turnout.pipeline.classify_lines import classify_lines

    try:
        if kind is not None:
            yield from _of_kind(name, kind, tally)
        elif name == _STANDARD_INPUT:
            yield from classify_lines(sys.stdin.buffer, name, tally)
        else:
            with Path(name).open("rb") as stream:
                yield from classify_lines(stream, name, tally)
    except OSError as error:
        raise TurnoutError(f"{name}: got {error.strerror or error}, expected a file that can be read") from error


def _of_kind(name: str, kind: str, tally: "Tally") -> Iterator["bytes | Complaint"]:
    from turnout.pipeline.classify_lines import Complaint
    from turnout.pipeline.classify_logs import classify_log

    with _as_file(name) as path:
        importer = _importer(kind, path)
        if importer is None:
            tally.damaged += 1
            yield Complaint(
                f"{name}: got a file of no known kind, expected a log that `turnout import` reads; name its kind with --kind"
            )
        else:
            yield from classify_log(importer, path, name, tally)


@contextmanager
def _as_file(name: str) -> Generator[Path]:
    """The file of that name; standard input as a file, for importers look at the first records before they read."""
    if name != _STANDARD_INPUT:
        yield Path(name)
        return
    with TemporaryDirectory(prefix="turnout-classify-") as folder:
        path = Path(folder, "stdin.jsonl")
        with path.open("wb") as copy:
            copyfileobj(sys.stdin.buffer, copy)
        yield path


def _importer(kind: str, path: Path) -> "Importer | None":
    from turnout.pipeline.importers import KINDS, detect

    found = detect(path) if kind == "auto" else kind
    if found is None:
        return None
    if found not in KINDS:
        raise TurnoutError(f"--kind: got {kind!r}, expected auto or one of {', '.join(KINDS)}")
    return KINDS[found]
