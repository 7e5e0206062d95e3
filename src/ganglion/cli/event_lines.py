"""Events as lines for people."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ganglion.cli.formats import age

if TYPE_CHECKING:
    from ganglion.client.views import EventView

Fields = dict[str, Any]


def line_of(view: "EventView") -> str:
    """Return one event as one line: number, time, what, who, details."""
    event = view.event
    at = datetime.fromtimestamp(event["at"] / 1000).astimezone().strftime("%H:%M:%S")
    kind = event["type"]
    details = _DETAILS.get(kind, _plain)(event)
    return f"{view.seq:>6}  {at}  {kind:<14}  {subject(event):<20}  {details}".rstrip()


def subject(event: Fields) -> str:
    """Return the gang, node or queue that an event is about; empty for the whole fleet."""
    gang = event.get("gang")
    if isinstance(gang, dict):
        return str(gang["id"])
    node = event.get("node")
    if isinstance(node, dict):
        return str(node["name"])
    queue = event.get("queue")
    if isinstance(queue, dict):
        return str(queue["name"])
    return str(gang or node or event.get("name") or "")


def concerns(event: Fields, job: str) -> bool:
    """Whether an event is about this workload, or this gang when `job` has an index."""
    about = subject(event)
    return job in (about, about.rpartition("/")[0])


def _plain(event: Fields) -> str:
    """Return the keys that are simple values."""
    shown = {
        key: value
        for key, value in event.items()
        if key not in ("type", "at", "gang", "node", "name", "queue")
        and isinstance(value, str | int | bool)
    }
    return " ".join(f"{key}={value}" for key, value in shown.items())


def _submitted(event: Fields) -> str:
    gang = event["gang"]
    return f"to {gang['queue']}, priority {gang.get('priority', 50)}"


def _placed(event: Fields) -> str:
    pods = event["placement"]["pods"]
    nodes = list(dict.fromkeys(pod["node"] for pod in pods))
    shown = ", ".join(nodes[:4]) + (f" and {len(nodes) - 4} more" if len(nodes) > 4 else "")
    return f"attempt {event['attempt']} on {shown}"


def _ended(event: Fields) -> str:
    code = event.get("exit_code")
    parts = [
        f"attempt {event['attempt']} {event['outcome']}",
        f"exit code {code}" if code is not None else "",
        event.get("message", ""),
        "waits again" if event.get("requeue") else "",
    ]
    return ", ".join(part for part in parts if part)


def _updated(event: Fields) -> str:
    changes = {k: v for k, v in event.items() if k not in ("type", "at", "gang") and v is not None}
    if "time_limit_ms" in changes:
        changes["time limit"] = age(changes.pop("time_limit_ms"))
    if "held" in changes:
        changes["held" if changes.pop("held") else "released"] = ""
    return ", ".join(f"{key} {value}".strip() for key, value in changes.items())


_DETAILS: dict[str, Callable[[Fields], str]] = {
    "gang_submitted": _submitted,
    "gang_placed": _placed,
    "gang_started": lambda event: f"attempt {event['attempt']}",
    "gang_stopping": lambda event: f"attempt {event['attempt']}: {event['cause']}",
    "gang_ended": _ended,
    "gang_updated": _updated,
    "node_added": lambda event: f"{len(event['node'].get('devices', ()))} GPUs",
    "node_cordoned": lambda event: event.get("reason") or "takes work again",
}
