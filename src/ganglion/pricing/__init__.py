"""Which price holds for a flavor and a kind of workload at a time, from prices with dates.

Pure: it follows from the prices that were set. Imports the model alone.
"""
