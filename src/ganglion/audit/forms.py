"""Records of a trail as CSV, and as lines of syslog. Neither verifies: JSON lines do."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from ganglion.audit.records import AuditRecord

COLUMNS = (
    *("seq", "time", "kind", "actor", "queue", "workload", "request"),
    *("policy", "software", "rule", "image", "model", "ran", "checksum", "event"),
)

AUDIT_INFO = 13 * 8 + 6
"""Priority of RFC 5424: facility `log audit`, severity informational."""
SD_ID = "ganglion@32473"
"""Name of the structured data; the number is the one that RFC 5612 sets aside for examples."""
BEGINS_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(records: Iterable[AuditRecord]) -> Iterator[bytes]:
    """A head line, then one line per record; the event is JSON in the last column.

    A text that a spreadsheet would run as a formula begins with a quotation mark `'`.
    """
    yield _csv(COLUMNS)
    for each in records:
        policy = "" if each.policy is None else str(each.policy)
        head = [str(each.seq), utc(each.at), each.kind, each.actor, each.queue, each.workload]
        by = [each.request, policy, each.software, each.rule, each.image, each.model, each.ran]
        yield _csv([*head, *by, each.checksum, event_of(each)])


def _csv(cells: Iterable[str]) -> bytes:
    out = io.StringIO()
    safe = [f"'{cell}" if cell.startswith(BEGINS_FORMULA) else cell for cell in cells]
    csv.writer(out, lineterminator="\n").writerow(safe)
    return out.getvalue().encode()


def as_syslog(records: Iterable[AuditRecord], host: str) -> Iterator[bytes]:
    """One line per record as of RFC 5424; the event is JSON in the message.

    Args:
        records: of the trail.
        host: name of the machine whose trail it is.
    """
    for each in records:
        policy = "" if each.policy is None else str(each.policy)
        values = {
            "seq": str(each.seq),
            "actor": each.actor,
            "queue": each.queue,
            "workload": each.workload,
            "request": each.request,
            "policy": policy,
            "software": each.software,
            "rule": each.rule,
            "image": each.image,
            "model": each.model,
            "ran": each.ran,
            "checksum": each.checksum,
        }
        data = "".join(f' {name}="{_escaped(value)}"' for name, value in values.items() if value)
        head = f"<{AUDIT_INFO}>1 {utc(each.at)} {host or '-'} ganglion - {each.kind[:32] or '-'}"
        yield f"{head} [{SD_ID}{data}] {event_of(each)}\n".encode()


def utc(ms: int) -> str:
    """A time in ms as text, to the millisecond."""
    try:
        at = datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return "-"  # of a damaged row
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"


def event_of(record: AuditRecord) -> str:
    """The event as JSON in one line; of one that cannot be read, why."""
    return json.dumps(record.event or {"problem": record.problem}, ensure_ascii=False)


def _escaped(value: str) -> str:
    flat = "".join(each if each.isprintable() else " " for each in value)
    return flat.replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")
