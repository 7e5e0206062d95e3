"""Benchmarks of published protocols and traces, run in a checkout.

Each is one module with a `BENCH`; `registry` lists them. They use the product, which does not know
of them and is installed without them.
"""
