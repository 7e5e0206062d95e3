"""`python -m benchmarks`: run one benchmark, or list them."""

from benchmarks.command import PROGRAM, benchmarks
from ganglion.cli.main import main

if __name__ == "__main__":
    main(root=benchmarks, program=PROGRAM)
