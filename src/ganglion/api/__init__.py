"""What goes over the wire: one struct per answer, which the server sends and the client reads.

The OpenAPI page is made from these: a docstring describes its struct, and `Attributes` its keys.
A server sends every key. A client fills in what an earlier server does not send, and ignores
what a later one adds; that is what defaults are for. May import `model`.

Times are milliseconds since 1970.
"""
