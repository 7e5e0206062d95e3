"""Run a router: `python -m ganglion.router --home DIR --host HOST --port PORT`."""

import argparse
import asyncio
import sys
from pathlib import Path

from ganglion.extras import require
from ganglion.model.errors import GanglionError
from ganglion.transport.tls.files import TLS_FILES, add_options, tls_files


def main() -> int:
    """Serve; return how the program exits."""
    try:
        require("router")
        _serve()
    except GanglionError as error:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        sys.stderr.write(f"{error.message}{hint}\n")
        return error.exit_code
    return 0


def _serve() -> None:
    from ganglion.router.link import PORT  # noqa: PLC0415 - they need the extra
    from ganglion.router.process import Router, prepare  # noqa: PLC0415 - the same
    from ganglion.transport.hosts import LOOPBACK  # noqa: PLC0415 - the same

    parser = argparse.ArgumentParser(prog="python -m ganglion.router", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="Ganglion's home directory")
    parser.add_argument("--host", default=LOOPBACK, help="address to listen on")
    parser.add_argument("--port", type=int, default=PORT, help="0 = any free one")
    add_options(parser, TLS_FILES)
    given = parser.parse_args()
    tls = tls_files("", given.tls_cert, given.tls_key)
    prepare()
    asyncio.run(Router(given.home, given.host, given.port, tls=tls).run())


if __name__ == "__main__":
    sys.exit(main())
