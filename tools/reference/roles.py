"""The page of roles: what each of them allows, and which operations ask for it."""

from ganglion.identity.roles import PERMISSIONS, Permission, Reach, Role
from ganglion.server.access.operations import OPERATIONS, GrantPlace

INTRODUCTION = """\
# Roles

Generated from the program (`python -m tools.reference`). [Who may do what](../access.md) says how
roles are granted, and what they protect.

A role is granted to a user or a group on a queue, for the queue and all queues under it, or on the
whole fleet. `own` allows it for what the user itself has submitted or set. Nodes, the policy,
tokens and the server belong to no queue: only a grant on the whole fleet counts for them.
"""

MEANING = {
    "view workload": "lists, details, explanations, logs and events of workloads",
    "submit workload": "submit to the queue, retry there, move work there",
    "update workload": "priority, limits, hold, scale, suspend, resume",
    "stop workload": "cancel",
    "enter workload": "run commands in pods, forward ports, use workspaces, get keys of services",
    "connect workload": "send requests to services through the router",
    "view queue": "rules and use of queues",
    "change queue": "make, change and remove queues; at present on the whole fleet only",
    "view fleet": "nodes, the order of all that waits, bookings, drains, metrics",
    "change fleet": "cordon, drain, book nodes",
    "view policy": "the policy and its versions",
    "change policy": "set the policy, roll it back",
    "change secret": "keep values by name",
    "grant access": "grant and revoke roles, none beyond the grantor's own",
    "change access": "place and release legal holds, erase names of users",
    "audit access": "read grants, denials, legal holds, and who entered which pod",
    "grant token": "make and revoke personal tokens of every user; add, change, remove local users",
    "halt server": "end the server",
    "deliver cluster": "deliver what the scheduler of a cluster decides and finds",
    "view price": "what an hour of a GPU costs, now and ever",
    "change price": "set prices",
    "view budget": "what queues may spend, have spent and may still spend",
    "change budget": "set and remove budgets; approve and deny requests to raise them",
}
"""What a permission is about, in words."""


def page() -> str:
    """Return the whole page."""
    heads = "".join(f" {role} |" for role in Role)
    parts = [INTRODUCTION, "## What each role allows\n"]
    parts.append(f"| Permission | What it is |{heads}\n|---|---|{'---|' * len(Role)}")
    for permission in PERMISSIONS:
        cells = "".join(f" {_cell(permission, role)} |" for role in Role)
        parts.append(f"| {_named(permission)} | {MEANING[_named(permission)]} |{cells}")
    parts += ["\n## What each operation asks for\n", "| Operation | Permission | Where |"]
    parts.append("|---|---|---|")
    for name, rule in sorted(OPERATIONS.items()):
        named = "" if rule.where is GrantPlace.ANYONE else _named((rule.verb, rule.kind))
        parts.append(f"| `{name}` | {named} | {rule.where} |")
    return "\n".join(parts) + "\n"


def _named(permission: Permission) -> str:
    return " ".join(permission)


def _cell(permission: Permission, role: Role) -> str:
    reach = PERMISSIONS[permission].get(role)
    return "" if reach is None else "yes" if reach is Reach.ALL else "own"
