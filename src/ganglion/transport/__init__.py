"""Connections between the parts of Ganglion: Unix sockets, proof of who listens, refused requests.

Imports `model`, `specs` and `identity`. Client, server and router use it.
"""
