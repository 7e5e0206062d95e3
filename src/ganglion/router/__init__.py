"""A reverse proxy in front of services and workspaces, in a process of its own.

`table` says what is routed where, `stats` what the router tells about it, `link` how a server
starts the router, feeds it and reads it. Nothing else is needed from outside.
"""
