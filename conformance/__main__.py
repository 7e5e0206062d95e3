"""`python -m conformance`: run scenarios of other schedulers, or list them."""

from conformance.command import PROGRAM, conformance
from ganglion.cli.main import main

if __name__ == "__main__":
    main(root=conformance, program=PROGRAM)
