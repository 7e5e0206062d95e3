"""The stream of events as a caller may read it who may not read all of it."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import anyio

from ganglion.identity.roles import AccessVerb, ResourceKind
from ganglion.lifecycle.budgets import QUEUES
from ganglion.lifecycle.clusters import place_of
from ganglion.server.access.caller import Caller
from ganglion.server.access.veil import Veil
from ganglion.server.access.visible import Queues
from ganglion.server.state.feed import framed

Fields = dict[str, Any]

_AUDITED = frozenset(
    {
        *("pod_access", "role_granted", "role_revoked", "access_denied"),
        *("glass_broken", "glass_mended", "token_created", "token_revoked"),
        *("account_joined", "signed_in", "signed_out", "hold_placed", "hold_released"),
        *("bootstrap_made", "bootstrap_used"),
        *("user_added", "user_grouped", "password_changed"),
        *("user_disabled", "user_enabled", "user_removed"),
        "user_erased",
    }
)
"""Types of events that ask for the right to audit."""
_OWN = frozenset(
    {
        *("glass_broken", "glass_mended", "token_created", "token_revoked"),
        *("account_joined", "signed_in", "signed_out"),
        *("user_added", "user_grouped", "password_changed"),
        *("user_disabled", "user_enabled", "user_removed"),
    }
)
"""Those that the user whom they are about may read."""


def narrowed(stream: AsyncIterator[bytes], caller: Caller, queues: Queues) -> AsyncIterator[bytes]:
    """Leave out events that a caller may not see, and names in those that it may.

    Args:
        stream: server-sent events.
        caller: who reads; the grants count as they are when an event is sent.
        queues: finds the queues of workloads by their ids.
    """
    return _chosen(stream, lambda chunk: _narrow(chunk, caller.renewed(), queues))


async def _chosen(
    stream: AsyncIterator[bytes], narrow: Callable[[bytes], bytes]
) -> AsyncIterator[bytes]:
    async for chunk in stream:
        if not chunk.startswith(b"id:"):
            yield chunk  # a sign of life, or the end
            continue
        left = await anyio.to_thread.run_sync(narrow, chunk)
        if left:
            yield left


def _narrow(chunk: bytes, caller: Caller, queues: Queues) -> bytes:
    veil, found = Veil(caller, queues), list[bytes]()
    for block in chunk.split(b"\n\n"):
        head, _, data = block.partition(b"\ndata: ")
        if not data:
            continue
        event = json.loads(data)
        if may_read(event, caller, queues):
            if not caller.audits_all:
                for name in ("grant", "by_token", "agent"):
                    event.pop(name, "")
            kept = event if caller.sees_all else veil.without(event)
            number = int(head.removeprefix(b"id: "))
            found.append(framed(number, json.dumps(kept).encode()))
    return b"".join(found)


def may_read(event: Mapping[str, Any], caller: Caller, queues: Queues) -> bool:
    """Whether a caller may read an event at all."""
    kind = str(event["type"])
    if kind in _AUDITED:
        return _may_audit(event, caller, queues)
    if caller.sees_all:
        return True
    if kind == "cluster_event":
        return caller.sees(place_of(str(event["cluster"])))
    queue = _named(event, kind) or _queue_of(event, queues)
    return bool(queue) and caller.sees(queue)


def _named(event: Mapping[str, Any], kind: str) -> str:
    """The queue that an event itself names; empty = it names none."""
    match kind:
        case "budget_set":
            return str(event["budget"]["queue"])
        case "queue_set":
            return str(event["queue"]["name"])
        case "budget_removed" | "budget_requested" | "budget_raised" | "budget_denied":
            return str(event["queue"])
        case "alarm_set" if str(event["subject"]).startswith(QUEUES):
            return str(event["subject"]).removeprefix(QUEUES)
    return ""


def _may_audit(event: Mapping[str, Any], caller: Caller, queues: Queues) -> bool:
    if caller.audits_all:
        return True
    kind = str(event["type"])
    if kind in _OWN:
        return bool(event["user"] == caller.subject.user)
    queue = _queue_of(event, queues) if kind == "pod_access" else str(event.get("queue", ""))
    verb, resource = AccessVerb.AUDIT, ResourceKind.ACCESS
    return bool(queue) and caller.may(verb, resource, queue).allowed


def _queue_of(event: Mapping[str, Any], queues: Queues) -> str:
    """The queue of the workload that an event is about; empty = it is about none."""
    gang = event.get("gang") or event.get("workload") or event.get("subject") or ""
    if isinstance(gang, dict):
        gang = gang.get("id", "")
    workload = str(gang).partition("/")[0]
    return queues([workload]).get(workload, "") if workload else ""
