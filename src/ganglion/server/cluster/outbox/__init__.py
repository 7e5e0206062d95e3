"""What a scheduler of clusters decides and finds, on its way to a server.

It is written before any order is given, in files that survive the process, and delivered by a
thread of its own.
"""
