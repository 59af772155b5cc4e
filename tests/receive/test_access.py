"""Tokens from a file, and where a receiver listens without one."""

from pathlib import Path

import pytest

from turnout.pipeline.receive.access import Access, AccessError, Token, check_exposure, read_tokens

TOKENS = Access((Token("shop team", b"one", frozenset({"shop", "till"})), Token("anyone", b"two")))


def test_tokens_are_read_with_their_names_and_services(tmp_path: Path) -> None:
    """A table a token; services are optional."""
    path = tmp_path / "tokens.toml"
    path.write_text('["shop team"]\ntoken = "one"\nservices = ["shop", "till"]\n\n[anyone]\ntoken = "two"\n')
    assert read_tokens(path) == TOKENS


def test_a_token_is_never_printed() -> None:
    """What a log or a traceback shows of a token is its name."""
    assert "one" not in repr(TOKENS.tokens[0]).replace("frozenset", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "got an empty file"),
        ("[a]\n", "cannot use \\[a\\]"),
        ('[a]\ntoken = ""\n', "cannot use \\[a\\]"),
        ("[a]\ntoken = 3\n", "cannot use \\[a\\]"),
        ('[a]\ntoken = "x"\nservices = "shop"\n', "cannot use \\[a\\]"),
        ('[a]\ntoken = "x"\nservice = ["shop"]\n', "cannot use \\[a\\]"),
        ("a = [", "expected TOML"),
    ],
)
def test_a_token_file_that_cannot_be_used_is_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    """A receiver must not start with fewer rules than its owner meant."""
    path = tmp_path / "tokens.toml"
    path.write_text(text)
    with pytest.raises(AccessError, match=words):
        read_tokens(path)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback_needs_no_token(host: str) -> None:
    """Only this machine reaches it."""
    check_exposure(host, Access(), insecure=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.com"])
def test_another_address_needs_a_token_or_the_word(host: str) -> None:
    """Refused with what to do; a token or --insecure opens it."""
    with pytest.raises(AccessError, match="without a token"):
        check_exposure(host, Access(), insecure=False)
    check_exposure(host, TOKENS, insecure=False)
    check_exposure(host, Access(), insecure=True)
