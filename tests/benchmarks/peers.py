"""Install the programs that `peers_bench` measures, below ``build/peers``: minutes, and two gigabytes. ``make bench-peers`` runs it.

Names as arguments install those alone.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from peer_programs import PEERS


def main() -> None:
    """Install what is asked for, and is not there yet."""
    wanted = set(sys.argv[1:]) or {peer.name for peer in PEERS}
    unknown = wanted - {peer.name for peer in PEERS}
    if unknown:
        sys.exit(f"peers: got {', '.join(sorted(unknown))}, expected {' or '.join(peer.name for peer in PEERS)}")
    for peer in PEERS:
        if peer.name in wanted and not peer.is_installed:
            sys.stderr.write(f"peers: installing {peer.requirement} in {peer.home}\n")
            peer.install()


if __name__ == "__main__":
    main()
