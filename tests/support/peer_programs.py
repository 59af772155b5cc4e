"""The programs that this one is measured beside: how to install them, each in an environment of its own, and how to run them.

Each runs as its documentation says for a start: SQLite, one process, no settings but where to write and to listen.
"""

import os
import subprocess
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent.parent / "build" / "peers"


@dataclass(frozen=True)
class Peer:
    """A program: what to install, how to start it, what it wants with a request, and the database that its spans end in.

    In the command, ``{folder}``, ``{port}`` and ``{other}`` (a second port) are filled in.
    """

    name: str
    requirement: str
    command: Sequence[str]
    database: str
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    path: str = "/v1/traces"

    @property
    def home(self) -> Path:
        """Its environment."""
        return HOME / self.name

    @property
    def is_installed(self) -> bool:
        """Whether it can be run."""
        return (self.home / "bin" / self.command[0]).exists()

    def install(self) -> None:
        """Make its environment and install it there."""
        venv.create(self.home, with_pip=True, clear=True)
        command = [
            str(self.home / "bin" / "pip"),
            "install",
            "--quiet",
            "--disable-pip-version-check",
            self.requirement,
        ]
        subprocess.run(command, check=True)

    def start(self, folder: Path, port: int, other: int) -> "subprocess.Popen[bytes]":
        """Start it over a folder, as a process group of its own."""
        given = {"folder": str(folder), "port": str(port), "other": str(other)}
        command = [str(self.home / "bin" / self.command[0]), *(part.format(**given) for part in self.command[1:])]
        environment = os.environ | {name: value.format(**given) for name, value in self.environment.items()}
        environment.pop("PYTHONPATH", None)
        quiet = subprocess.DEVNULL
        return subprocess.Popen(
            command, cwd=folder, env=environment, stdout=quiet, stderr=quiet, start_new_session=True
        )


PEERS = (
    Peer(
        "phoenix",
        "arize-phoenix==20.26.1",
        ("phoenix", "serve"),
        "phoenix.db",
        {
            "PHOENIX_WORKING_DIR": "{folder}",
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_PORT": "{port}",
            "PHOENIX_GRPC_PORT": "{other}",
            "PHOENIX_TELEMETRY_ENABLED": "false",
        },
    ),
    Peer(
        "mlflow",
        # 3.18.0 asks for a part of itself that was never published.
        "mlflow==3.17.2",
        (
            "mlflow",
            "server",
            "--backend-store-uri",
            "sqlite:///{folder}/mlflow.db",
            "--host",
            "127.0.0.1",
            "--port",
            "{port}",
            "--workers",
            "1",
        ),
        "mlflow.db",
        {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"},
        {"x-mlflow-experiment-id": "0"},
    ),
)
