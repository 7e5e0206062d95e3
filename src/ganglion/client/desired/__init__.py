"""A fleet from files: what it is now, and the writes that make it what files say.

Uses the methods of `Client` alone, one audited request per object.
"""
