"""What is written on the objects of a submitted workload, so that it is found again."""

from ganglion.worlds.kubernetes import names

WORKLOAD = f"{names.GROUP}/workload"
"""Label of every object and pod of a workload: its name."""
KIND = f"{names.GROUP}/kind"
"""Label: kind of the workload, as `train`."""
GANG_INDEX = f"{names.GROUP}/gang-index"
"""Label: number of the gang among its siblings, where one object makes one gang."""

USER = f"{names.GROUP}/user"
"""Annotation: who submitted it, as the person's machine calls them."""
DOCUMENT = f"{names.GROUP}/document"
"""Annotation of the main object: what was submitted, in canonical keys, as JSON."""
REQUEST = f"{names.GROUP}/request"
"""Annotation of the main object: idempotency key of the submit that made it."""
RELEASE = f"{names.GROUP}/release"
"""Annotation of the main object while it is not complete: its switch once it is, as JSON."""
PRIORITY = names.PRIORITY
"""Annotation: priority 0..100, where no priority class of the cluster was named."""
GPU_TYPES = names.GPU_TYPES
"""Annotation: models of GPUs that will do, the preferred first, as `H100,A100`."""
IDLE_TIMEOUT = f"{names.GROUP}/idle-timeout"
"""Annotation: how long a workspace may be idle."""
FIRST_POD = f"{names.GROUP}/first-pod"
"""Annotation of pods: node rank of the first pod of their set; absent = 0."""
PROCS = f"{names.GROUP}/procs"
"""Annotation: processes that run in each pod."""
