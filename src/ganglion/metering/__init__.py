"""What attempts held and what the fleet had, as intervals of time that never change.

Pure: the intervals follow from the events of a ledger alone.
"""
