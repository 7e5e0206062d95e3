"""`python -m ganglion` is `ganglion`."""

import sys
from typing import NoReturn

from ganglion.extras import explained


def main() -> NoReturn:
    """Run the command line and exit; say what to install where it is not there."""
    try:
        from ganglion.cli.main import main as run  # noqa: PLC0415 - it may not be installed
    except ModuleNotFoundError as error:
        if (fault := explained(error)) is None:
            raise
        sys.stderr.write(f"Error: {fault.message}\nHint: {fault.hint}\n")
        sys.exit(fault.exit_code)
    run()


if __name__ == "__main__":
    main()
