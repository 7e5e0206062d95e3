"""Which format a trace is in, by its first line of content."""

from enum import StrEnum
from pathlib import Path

from ganglion.model.errors import FileError
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.readers import jobs_csv, openb, swf
from ganglion.worlds.simulated.readers.text import CsvTable, lines


class TraceFormat(StrEnum):
    """Formats of traces."""

    AUTO = "auto"
    OPENB = "openb"
    JOBS = "jobs"
    SWF = "swf"


def detect(path: Path) -> TraceFormat:
    """Return the format of a trace from its heading.

    Raises:
        FileError: unreadable, empty, or no known format.
    """
    first = next((line for _, line in lines(path) if line.strip()), "")
    if not first:
        raise FileError(f"{path} is empty")
    if first.lstrip().startswith(";") or len(first.split()) == len(swf.FIELDS):
        return TraceFormat.SWF
    columns = CsvTable(path).columns
    if openb.is_nodes(columns):
        raise FileError(f"{path} is a list of nodes, not a trace", "give it as --cluster")
    for known, fits in (
        (TraceFormat.OPENB, openb.is_pods),
        (TraceFormat.SWF, swf.is_metacentrum),
        (TraceFormat.JOBS, jobs_csv.matches),
    ):
        if fits(columns):
            return known
    raise FileError(
        f"{path} is in no known trace format",
        "a job table has submit_s, duration_s and num_gpus; or say --format openb, jobs or swf",
    )


def read_trace(
    path: Path, fmt: TraceFormat = TraceFormat.AUTO, *, per_node: int = 8
) -> list[SimJob]:
    """Read a trace of any known format.

    Args:
        path: the file, gzipped or not.
        fmt: its format, or `auto`.
        per_node: GPUs (SWF: CPU cores) of one node; larger jobs become gangs of whole nodes.

    Raises:
        FileError: unreadable, no known format, or two jobs of one name.
        FieldError: a value cannot be used; names file, line and column.
    """
    jobs = _read(path, detect(path) if fmt is TraceFormat.AUTO else fmt, per_node)
    seen: set[str] = set()
    for job in jobs:
        if job.gang.id in seen:
            raise FileError(f"{path} has two jobs {job.gang.workload}")
        seen.add(job.gang.id)
    return jobs


def _read(path: Path, known: TraceFormat, per_node: int) -> list[SimJob]:
    if known is TraceFormat.OPENB:
        return openb.read_pods(path)
    if known is TraceFormat.JOBS:
        return jobs_csv.read_jobs(path, gpus_per_node=per_node)
    first = next((line for _, line in lines(path) if line.strip()), "")
    if "," in first and not first.lstrip().startswith(";"):
        return swf.read_metacentrum(path, cpus_per_node=per_node)
    return swf.read_swf(path, cpus_per_node=per_node)
