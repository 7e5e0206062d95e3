"""What a program asks of its machine: the time, chance, files, processes and databases.

One narrow protocol and one real implementation per module. Components take what they need by their
constructor, so that tests and simulations put another one in its place, which fails from a seed.
The lint (`tools/archlint/machine/seams.py`) finds what goes around them. Imports nothing of the
project, and, but for `connections`, nothing beside the standard library: supervisors import this.
"""
