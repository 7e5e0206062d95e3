"""The command line `ganglion`, on top of the client."""
