"""What `turnout serve` refuses before it listens, in one sentence each."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from turnout.cli.group import turnout

REFUSED = {
    "another address without a token": (["--host", "0.0.0.0"], "will not listen on 0.0.0.0 without a token"),
    "half of TLS": (["--tls-cert", "FILE"], "TLS needs both files"),
    "tokens that are none": (["--tokens", "FILE"], "no token in"),
    "a journal that is a file": (["--journal", "FILE/journal"], "cannot open the journal"),
    "an address of another machine": (["--host", "192.0.2.1", "--insecure"], "cannot listen on 192.0.2.1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_start_that_cannot_be_is_one_sentence(name: str, tmp_path: Path) -> None:
    """Exit status 1 and one line that says what to do."""
    arguments, words = REFUSED[name]
    (tmp_path / "file").write_text("")
    given = [argument.replace("FILE", str(tmp_path / "file")) for argument in arguments]
    result = CliRunner().invoke(
        turnout, ["serve", "--lake", str(tmp_path / "lake"), "--port", "0", "--no-grpc", *given]
    )
    lines = result.stderr.splitlines()
    assert (result.exit_code, len(lines), words in lines[0]) == (1, 1, True)


@pytest.mark.parametrize("duration", ["soon", "15", "-3m"])
def test_a_duration_that_is_none_is_a_usage_error(duration: str) -> None:
    """Exit status 2."""
    assert CliRunner().invoke(turnout, ["serve", "--quiet", duration]).exit_code == 2
