"""The local world: this machine as nodes, real processes as pods.

Kept free of imports: the supervisor of every attempt is started from this package and must
be up within milliseconds.
"""
