"""Class names that the product defines twice, and why. The table only gets shorter.

A row that nothing needs any more is a finding.
"""

from types import MappingProxyType

KUBERNETES = "what Kubernetes calls its own object, and what the project calls its own"
SUBMITTED = "the same object of Kubernetes; each side reads the fields that it needs"
RECORD = "the same record, on the side that writes it and on the side that reads it"
ANSWER = "the same thing: as it is decided, and as it is told"
NOT_YET = "two things, which have no names of their own yet"

TWICE = MappingProxyType(
    {
        "Access": NOT_YET,
        "Asked": NOT_YET,
        "Attempt": NOT_YET,
        "Attempts": NOT_YET,
        "Band": ANSWER,
        "Changed": NOT_YET,
        "Checkpoint": NOT_YET,
        "Claim": NOT_YET,
        "Clock": NOT_YET,
        "Conflict": NOT_YET,
        "ContainerState": SUBMITTED,
        "ContainerStatus": SUBMITTED,
        "Controller": NOT_YET,
        "Endpoint": NOT_YET,
        "Entry": NOT_YET,
        "Evict": NOT_YET,
        "Evictions": NOT_YET,
        "Facts": NOT_YET,
        "Figures": NOT_YET,
        "Filter": NOT_YET,
        "Forbidden": NOT_YET,
        "Found": NOT_YET,
        "Gate": NOT_YET,
        "Ground": NOT_YET,
        "Group": NOT_YET,
        "Guard": NOT_YET,
        "History": NOT_YET,
        "Holder": NOT_YET,
        "InUse": NOT_YET,
        "Kept": NOT_YET,
        "Listener": NOT_YET,
        "Load": NOT_YET,
        "Node": KUBERNETES,
        "Outcome": NOT_YET,
        "Pace": NOT_YET,
        "PodSpec": SUBMITTED,
        "PodStatus": SUBMITTED,
        "Pool": NOT_YET,
        "PriorityClass": KUBERNETES,
        "QueueTree": NOT_YET,
        "Reach": NOT_YET,
        "Reason": NOT_YET,
        "Resource": NOT_YET,
        "Rights": NOT_YET,
        "Rule": NOT_YET,
        "Run": NOT_YET,
        "Scale": NOT_YET,
        "Scaling": ANSWER,
        "Scenario": NOT_YET,
        "Search": NOT_YET,
        "Seat": NOT_YET,
        "ServerRecord": RECORD,
        "Service": NOT_YET,
        "Sight": NOT_YET,
        "Slice": NOT_YET,
        "Snapshot": NOT_YET,
        "Source": NOT_YET,
        "Span": NOT_YET,
        "Spent": ANSWER,
        "Stage": NOT_YET,
        "Standby": NOT_YET,
        "Standing": NOT_YET,
        "State": NOT_YET,
        "Subject": NOT_YET,
        "Tally": NOT_YET,
        "Target": NOT_YET,
        "Terminated": SUBMITTED,
        "Topped": RECORD,
        "Unit": NOT_YET,
        "Usage": NOT_YET,
        "Verdict": NOT_YET,
        "Waiting": NOT_YET,
        "Wanted": NOT_YET,
        "Where": NOT_YET,
        "Wish": NOT_YET,
    }
)
"""Name -> reason."""
