"""A reverse proxy in front of services and workspaces, in a process of its own.

`balancing.table` says what is routed where, `balancing.stats` what the router reports of it,
`link` how a server starts the router, feeds it and reads it.
"""
