"""The decisions: events and the time go in, a plan with reasons comes out.

Pure: no I/O, no clock, no randomness, no logging; imports nothing but `ganglion.model`.
"""
