"""A cluster that is churned for an hour while everything around the scheduler fails.

`python -m tests.soak --seconds 3600 --pods 5000 --seed 1 --json FILE`; exits with 1 where a
promise was broken. docs/benchmarks/churn.md says what is counted.
"""
