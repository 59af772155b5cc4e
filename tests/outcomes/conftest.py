from collections.abc import Callable

import pytest
from hypothesis import settings

from outcome_cases import handed_cases, own_cases

settings.register_profile("turnout", deadline=None)
settings.load_profile("turnout")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once for each case that it asks for by name."""
    sources: dict[str, Callable[[], list[object]]] = {
        "own_case": lambda: list(own_cases()),
        "handed_case": lambda: list(handed_cases()),
    }
    for name, cases in sources.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, cases(), ids=lambda case: case.name)
