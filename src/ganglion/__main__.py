"""`python -m ganglion` is `ganglion`."""

from ganglion.cli.main import main

if __name__ == "__main__":
    main()
