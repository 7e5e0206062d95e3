"""Connections between the parts of Ganglion: Unix sockets, and proof of who listens on a TCP port.

Imports `model` only. Client, server and router use it.
"""
