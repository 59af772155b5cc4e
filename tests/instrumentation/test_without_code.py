"""The protocol that is chosen where OpenTelemetry's own choice could not work."""

import importlib.util
import os

import pytest

from turnout.instrumentation.without_code import PROTOCOL, choose_protocol


@pytest.mark.parametrize(
    ("grpc", "before", "after"),
    [(False, None, "http/protobuf"), (False, "grpc", "grpc"), (True, None, None), (True, "http/json", "http/json")],
    ids=["no gRPC", "no gRPC, but asked for", "gRPC", "something else"],
)
def test_a_protocol_is_chosen_only_where_none_would_work(
    before: str | None, after: str | None, *, grpc: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody chose is theirs, and gRPC stays the default where it can be had."""
    monkeypatch.delenv(PROTOCOL, raising=False)
    if before is not None:
        monkeypatch.setenv(PROTOCOL, before)

    def found(_: str) -> object:
        return importlib.util.find_spec("json") if grpc else None

    monkeypatch.setattr("turnout.instrumentation.without_code.find_spec", found)
    choose_protocol()
    assert os.environ.get(PROTOCOL) == after
