"""The words of other schedulers that scenarios may be written in."""

from conformance.kai import run as kai
from conformance.kueue import run as kueue
from ganglion.scenarios.model import Format

FORMATS = (Format("kai", "jobs", kai.run), Format("kueue", "workloads", kueue.run))
