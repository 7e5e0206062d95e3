"""Events as lines for people."""

import shlex
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ganglion.cli.output.formats import age, both, clock, gpu_time, memory, plural, plural_milli

if TYPE_CHECKING:
    from ganglion.api.events import EventView

Fields = dict[str, Any]


def line_of(view: "EventView") -> str:
    """Return one event as one line: number, time, what, who, details."""
    event = view.event
    at = datetime.fromtimestamp(event["at"] / 1000).astimezone().strftime("%H:%M:%S")
    kind = event["type"]
    return f"{view.seq:>6}  {at}  {kind:<20}  {subject(event):<20}  {details(event)}".rstrip()


CLUSTER = "cluster_event"
"""Type of an event that has one of a cluster in it."""


def details(event: Fields) -> str:
    """Return what happened beside the type and the subject; may be empty."""
    if event.get("type") == CLUSTER:
        return details(event["event"])
    return _DETAILS.get(event.get("type", ""), _plain)(event)


def subject(event: Fields) -> str:
    """Return the gang, node, queue or booking of an event; empty for the whole fleet."""
    if event.get("type") == CLUSTER:
        return f"{event['cluster']}:{subject(event['event'])}"
    gang = event.get("gang")
    if isinstance(gang, dict):
        return str(gang["id"])
    node = event.get("node")
    if isinstance(node, dict):
        return str(node["name"])
    for key, name in _NAMED:
        about = event.get(key)
        if isinstance(about, dict):
            return str(about[name])
    if str(event["type"]).startswith("token_"):
        return str(event["token"])
    other = event.get("name") or event.get("workload") or event.get("subject")
    return str(gang or event.get("node") or other or "")


_NAMED = (("queue", "name"), ("booking", "name"), ("price", "flavor"), ("budget", "queue"))
"""Key of an event -> key within it that names what the event is about."""


def concerns(event: Fields, job: str) -> bool:
    """Whether an event is about this workload, or this gang when `job` has an index."""
    about = subject(event)
    return job in (about, about.rpartition("/")[0])


def _plain(event: Fields) -> str:
    """Return the keys that are simple values."""
    shown = {
        key: value
        for key, value in event.items()
        if key not in _ELSEWHERE and isinstance(value, str | int | bool)
    }
    return " ".join(f"{key}={value}" for key, value in shown.items())


_ELSEWHERE = frozenset(
    {
        *("type", "at", "gang", "node", "name", "queue", "request", "actor", "grant", "glass"),
        *("by_token", "agent"),
        *("cluster", "scheduler", "number"),
    }
)
"""Keys that a line shows by itself, and those of the request, which `-o json` has."""


def _planned(event: Fields) -> str:
    cause = f": {event['cause']}" if event.get("cause") else ""
    if not event.get("placement"):
        return f"its planned start is taken back{cause}"
    if event.get("drains"):
        return f"{_nodes(event)} kept until it is free{cause}"
    return f"planned on {_nodes(event)} at {clock(event['start_ms'])}{cause}"


def _expected(event: Fields) -> str:
    p50, p90 = event.get("p50_ms", 0), event.get("p90_ms", 0)
    if p90 or p50:
        return f"expected to start in about {age(p50)}, nine times in ten within {age(p90)}"
    guesses = event.get("guesses", ())
    return f"start unknown: no time limit of {both(guesses)}" if guesses else "start unknown"


def _queue_set(event: Fields) -> str:
    queue = event["queue"]
    under = f"under {queue['parent']}" if queue.get("parent") else "at the top"
    amounts = (
        f"{name.replace('_', ' ')} {_amounts(queue[name])}"
        for name in ("quota", "limit", "lend_limit", "user_limit")
        if queue.get(name)
    )
    return ", ".join((under, *amounts))


def _amounts(by_flavor: Fields) -> str:
    """Of a queue: `8 GPUs of h100`; a flavor `*` is any."""
    return " and ".join(
        f"{_amount(amount)}{'' if flavor == '*' else f' of {flavor}'}"
        for flavor, amount in by_flavor.items()
    )


def _amount(amount: Fields) -> str:
    gpu, cpu = amount.get("gpu_milli"), amount.get("cpu_milli")
    memory_mib = amount.get("memory_mib")
    parts = (
        plural_milli(gpu, "GPU") if gpu is not None else "",
        plural_milli(cpu, "CPU") if cpu is not None else "",
        memory(memory_mib) if memory_mib is not None else "",
    )
    return ", ".join(filter(None, parts)) or "nothing"


def _submitted(event: Fields) -> str:
    gang = event["gang"]
    return f"to {gang['queue']}, priority {gang.get('priority', 50)}"


def _placed(event: Fields) -> str:
    return f"attempt {event['attempt']} on {_nodes(event)}"


def _nodes(event: Fields) -> str:
    nodes = list(dict.fromkeys(pod["node"] for pod in event["placement"]["pods"]))
    return ", ".join(nodes[:4]) + (f" and {len(nodes) - 4} more" if len(nodes) > 4 else "")


def _reserved(event: Fields) -> str:
    if not event.get("placement"):
        return "its promised place is given back"
    return f"promised {_nodes(event)}, once it is free"


def _resized(event: Fields) -> str:
    pods = len(event["placement"]["pods"])
    cause = f": {event['cause']}" if event.get("cause") else ""
    return f"attempt {event['attempt']} runs {pods} pod{'s' * (pods != 1)}{cause}"


def _ended(event: Fields) -> str:
    code, lost = event.get("exit_code"), event.get("lost_gpu_ms", 0)
    parts = [
        f"attempt {event['attempt']} {event['outcome']}",
        f"exit code {code}" if code is not None else "",
        event.get("message", ""),
        f"{gpu_time(lost)} of work lost" if lost else "",
        "waits again" if event.get("requeue") else "",
    ]
    return ", ".join(part for part in parts if part)


def _saved(event: Fields) -> str:
    step = f" step {event['step']:,}" if event.get("step") else ""
    where = f" in {event['path']}" if event.get("path") else ""
    return f"attempt {event['attempt']} has saved{step}{where}"


def _updated(event: Fields) -> str:
    changes = {k: v for k, v in event.items() if k not in _ELSEWHERE - {"queue"} and v is not None}
    if "time_limit_ms" in changes:
        changes["time limit"] = age(changes.pop("time_limit_ms"))
    if "expected_ms" in changes:
        changes["expected to run"] = age(changes.pop("expected_ms"))
    if "deadline_ms" in changes:
        changes["deadline"] = clock(changes.pop("deadline_ms"))
    if "recall_ms" in changes:
        changes["place lent for"] = age(changes.pop("recall_ms"))
    if "held" in changes:
        changes["held" if changes.pop("held") else "released"] = ""
    return ", ".join(f"{key} {value}".strip() for key, value in changes.items())


def _warned(event: Fields) -> str:
    message = event.get("message", "")
    if not event.get("suspend_at"):
        return f"attempt {event['attempt']}: its warning is taken back: {message}"
    return f"attempt {event['attempt']}: {message}"


def _booked(event: Fields) -> str:
    booking = event["booking"]
    whom = ", ".join((*booking.get("queues", ()), *booking.get("users", ()))) or "nobody"
    nodes, begin = len(booking["nodes"]), clock(booking["begin"] + booking.get("ahead_ms", 0))
    if booking.get("clears"):
        why = f": {booking['reason']}" if booking.get("reason") else ""
        return f"{nodes} node{'s' * (nodes != 1)} to be empty by {begin}{why}"
    took = age(booking["end"] - booking["begin"])
    return f"{nodes} node{'s' * (nodes != 1)} for {whom}, from {begin} for {took}"


def _healthy(event: Fields) -> str:
    if event["healthy"]:
        return f"GPU {event['device']} is well"
    return f"GPU {event['device']} is sick: {event.get('cause') or 'no reason given'}"


def _scaled(event: Fields) -> str:
    draining = event.get("draining", ())
    going = f"; {', '.join(draining)} drain" if draining else ""
    return f"from {event['before']} to {event['after']}: {event['cause']}{going}"


def _accessed(event: Fields) -> str:
    uid = f" (uid {event['uid']})" if event.get("uid") is not None else ""
    parts = ", ".join(each for each in (session_what(event), session_end(event)) if each)
    said = f"{event['verb']} {event['stage']} by {event['user']}{uid} in pod {event['pod']}"
    return f"{said}: {parts}" if parts else said


def session_what(event: Fields) -> str:
    """Return what is run, copied or reached in a session."""
    port = f"port {event['port']}" if event.get("port") else ""
    what = (event.get("path", ""), shlex.join(event.get("command", ())), port)
    return ", ".join(_printable(each) for each in what if each)


def session_end(event: Fields) -> str:
    """Return how a session ended; empty = it has not."""
    code, took = event.get("exit_code"), event.get("duration_ms")
    end = (
        f"exit code {code}" if code is not None else "",
        _printable(event.get("reason", "")),
        f"after {age(took)}" if took is not None else "",
    )
    return ", ".join(each for each in end if each)


def _printable(text: str) -> str:
    """A text that does nothing to a terminal."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _granted(event: Fields) -> str:
    until = event.get("until_ms")
    ends = f" until {clock(until)}" if until else ""
    place = event["queue"] or "the whole fleet"
    dormant = ", dormant until its holder breaks the glass" if event.get("break_glass") else ""
    return f"role {event['role']} on {place}{ends}{dormant}, by {event['by']}"


def _broken(event: Fields) -> str:
    place, ends = event["queue"] or "the whole fleet", clock(event["until_ms"])
    of = "" if event["subject"] == f"user:{event['user']}" else f" of {event['subject']}"
    what = f"{event['user']} broke the glass: role {event['role']}{of} on {place} until {ends}"
    return f"{what}: {_printable(event['reason'])}"


def _mended(event: Fields) -> str:
    place = event["queue"] or "the whole fleet"
    return f"role {event['role']} of {event['user']} on {place} ended, by {event['by']}"


def _denied(event: Fields) -> str:
    by = f" (token {event['token']})" if event["token"] else ""
    return f"{event['user'] or 'a stranger'}{by}: {event['operation']}: {event['rule']}"


def _token(event: Fields) -> str:
    if event["type"] == "token_revoked":
        return f"of {event['user']}, by {event['by']}"
    return f"of {event['user']}: role {event['role']} on {event['queue'] or 'the whole fleet'}"


def _user(event: Fields) -> str:
    again = ", kept with the parameters of today" if event.get("rehashed") else ""
    return f"{event['user']}, by {event['by']}{again}"


def kept(since_ms: int) -> str:
    """Return what a legal hold keeps: `every event stays`, or those since a time."""
    return f"events since {clock(since_ms)} stay" if since_ms else "every event stays"


def _held(event: Fields) -> str:
    return f"{kept(event['since_ms'])}: {event['reason']}, by {event['by']}"


def _lost(event: Fields) -> str:
    count = event.get("records", 0)
    said = plural(count, "record") if count else "records"
    whose = f" of scheduler {event['scheduler']}" if event.get("scheduler") else ""
    maybe = "are missing" if count else "may be missing"
    return f"{said}{whose} {maybe}: {event['loss']}"


def _refused(event: Fields) -> str:
    return event.get("problem") or "it takes part in decisions again"


def _priced(event: Fields) -> str:
    """Return a price as `2.50 EUR, for batch from 20:00 to 08:00, from 2027-01-01 00:00:00`."""
    from ganglion.specs.grammar.money import print_money, print_price_hours

    price = event["price"]
    micro = price.get("micro")
    worth = "no price" if micro is None else f"{print_money(micro)} {price['currency']}"
    hours = print_price_hours(price.get("start_min", 0), price.get("end_min", 0))
    about = " ".join(each for each in (price.get("kind", ""), hours) if each)
    return f"{worth}{f' for {about}' if about else ''} from {clock(price['since_ms'])}"


def _budgeted(event: Fields) -> str:
    """Return a budget as `500.00 a month, 20.00 spent`."""
    from ganglion.specs.grammar.money import cut_money

    spent = cut_money(event.get("spent_micro", 0))
    return f"{cut_money(event['budget']['micro'])} a month, {spent} spent"


def _asked(event: Fields) -> str:
    """Return a request for a budget as `3: 20.00 for research, the rerun`."""
    from ganglion.specs.grammar.money import cut_money

    micro = f"{cut_money(event['micro'])} more " if "micro" in event else ""
    said = f": {event['reason']}" if event.get("reason") else ""
    return f"request {event['number']}, {micro}for queue {event['queue']}{said}"


_DETAILS: dict[str, Callable[[Fields], str]] = {
    "gang_submitted": _submitted,
    "gang_placed": _placed,
    "gang_started": lambda event: f"attempt {event['attempt']}",
    "gang_stopping": lambda event: f"attempt {event['attempt']}: {event['cause']}",
    "gang_reserved": _reserved,
    "gang_resized": _resized,
    "pods_left": lambda event: f"attempt {event['attempt']}: the pods it gave up are gone",
    "checkpoint_committed": _saved,
    "images_reported": lambda event: ", ".join(
        f"{each['pod_set']}/{each['container']}: {each['id']}" for each in event["images"]
    ),
    "gang_ended": _ended,
    "service_scaled": _scaled,
    "service_learnt": lambda event: f"{len(event.get('started_ms', ()))} starts are remembered",
    "ledger_cut": lambda event: f"events up to {event['seq']} left the ledger",
    "server_started": lambda event: f"version {event['version']}",
    "scheduler_started": lambda event: f"version {event['version']}",
    "scheduler_settled": lambda _: "all that the cluster shows has been looked at",
    "scheduler_ended": lambda _: "in good order",
    "records_lost": _lost,
    "object_refused": _refused,
    "alarm_set": lambda event: f"{event['alarm']}: {event.get('message') or 'taken back'}",
    "gang_updated": _updated,
    "idle_warned": _warned,
    "pod_access": _accessed,
    "node_added": lambda event: plural(len(event["node"].get("devices", ())), "GPU"),
    "queue_set": _queue_set,
    "start_expected": _expected,
    "start_planned": _planned,
    "role_granted": _granted,
    "role_revoked": _granted,
    "glass_broken": _broken,
    "glass_mended": _mended,
    "access_denied": _denied,
    "token_created": _token,
    "token_revoked": _token,
    "account_joined": lambda event: f"{event['user']} of {event['issuer']}",
    "signed_in": lambda event: f"{event['user']} in a browser",
    "signed_out": lambda event: f"{event['user']}, by {event['by']}",
    "bootstrap_made": lambda event: f"until {clock(event['until_ms'])}, by {event['by']}",
    "bootstrap_used": lambda event: f"{event['user']} is admin",
    **dict.fromkeys(("user_added", "user_disabled", "user_enabled", "user_removed"), _user),
    "password_changed": _user,
    "user_grouped": lambda event: (
        f"{event['user']} in {', '.join(event['groups']) or 'no group'}, by {event['by']}"
    ),
    "hold_placed": _held,
    "hold_released": lambda event: f"by {event['by']}",
    "user_erased": lambda event: f"a name, by {event['by']}: {event['reason']}",
    "price_set": _priced,
    "budget_set": _budgeted,
    **dict.fromkeys(("budget_requested", "budget_raised", "budget_denied"), _asked),
    "reasons_changed": lambda event: ", ".join(event["reasons"]),
    "wait_order": lambda event: f"{len(event['gangs'])} gangs",
    "queues_lent": lambda event: ", ".join(each["queue"] for each in event["queues"]),
    "gpus_sampled": lambda event: f"of {len({each['gang'] for each in event['attempts']})} gangs",
    "wait_groups": lambda event: f"{sum(map(len, event['groups'].values()))} gangs",
    "policy_set": lambda event: f"version {event.get('version', 0)}",
    "booking_set": _booked,
    "booking_removed": lambda _: "taken back",
    "device_health": _healthy,
    "node_cordoned": lambda event: event.get("reason") or "takes work again",
}
