"""Run a router: `python -m ganglion.router --home DIR --host HOST --port PORT`."""

import argparse
import asyncio
import sys
from pathlib import Path

from ganglion.model.errors import GanglionError
from ganglion.router.link import PORT
from ganglion.router.process import LOOPBACK, Router, prepare


def main() -> int:
    """Serve; return how the program exits."""
    parser = argparse.ArgumentParser(prog="python -m ganglion.router", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="Ganglion's home directory")
    parser.add_argument("--host", default=LOOPBACK, help="address to listen on")
    parser.add_argument("--port", type=int, default=PORT, help="0 = any free one")
    given = parser.parse_args()
    prepare()
    try:
        asyncio.run(_run(given.home, given.host, given.port))
    except GanglionError as error:
        sys.stderr.write(f"{error.message}\n")
        return error.exit_code
    return 0


async def _run(home: Path, host: str, port: int) -> None:
    await Router(home, host, port).run()


if __name__ == "__main__":
    sys.exit(main())
