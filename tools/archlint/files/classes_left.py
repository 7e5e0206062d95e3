"""Class names that the product defines twice, and why. The table only gets shorter.

A row that nothing needs any more is a finding.
"""

from types import MappingProxyType

KUBERNETES = "what Kubernetes calls its own object, and what the project calls its own"
SUBMITTED = "the same object of Kubernetes; each side reads the fields that it needs"
RECORD = "the same record, on the side that writes it and on the side that reads it"
ANSWER = "the same thing: as it is decided, and as it is told"

TWICE = MappingProxyType(
    {
        "Band": ANSWER,
        "ContainerState": SUBMITTED,
        "ContainerStatus": SUBMITTED,
        "Node": KUBERNETES,
        "PodSpec": SUBMITTED,
        "PodStatus": SUBMITTED,
        "PriorityClass": KUBERNETES,
        "Scaling": ANSWER,
        "ServerRecord": RECORD,
        "Spent": ANSWER,
        "Terminated": SUBMITTED,
        "Topped": RECORD,
        "Waiting": SUBMITTED,
    }
)
"""Name -> reason."""
