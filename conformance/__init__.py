"""Scenarios of other schedulers, run on the engine in a checkout: which end as they do there.

They use the product, which does not know of them and is installed without them.
"""
