"""The queue tree: usage, limits, fair shares, and Kueue's cohorts."""
