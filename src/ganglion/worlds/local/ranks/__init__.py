"""The ranks of a gang and the environment of each."""
