"""Rules of architecture that no ready-made linter knows.

Run as `python -m tools.archlint`; every rule is a function from sources to findings.
"""
