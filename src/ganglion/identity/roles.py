"""Roles, and the table of what each of them allows."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Role(StrEnum):
    """What a grant gives; the values are stable."""

    VIEWER = "viewer"
    SUBMITTER = "submitter"
    MAINTAINER = "maintainer"
    OWNER = "owner"
    OPERATOR = "operator"
    AUDITOR = "auditor"
    ADMIN = "admin"
    REPORTER = "reporter"
    """Of the scheduler of a cluster: it delivers records, and may do nothing else."""


class AccessVerb(StrEnum):
    """What is done to a resource; the values are stable."""

    VIEW = "view"
    SUBMIT = "submit"
    UPDATE = "update"
    STOP = "stop"
    ENTER = "enter"
    """Run a command in a pod, forward a port, use a workspace, get the key of a service."""
    CONNECT = "connect"
    """Send requests to a service."""
    CHANGE = "change"
    GRANT = "grant"
    AUDIT = "audit"
    """Read grants, tokens, denials, and who entered which pod."""
    HALT = "halt"
    DELIVER = "deliver"


class ResourceKind(StrEnum):
    """What it is done to; the values are stable."""

    WORKLOAD = "workload"
    QUEUE = "queue"
    FLEET = "fleet"
    """Nodes, their bookings and drains, the order of all that waits."""
    POLICY = "policy"
    SECRET = "secret"
    ACCESS = "access"
    """Grants, tokens, denials, sessions in pods; legal holds, which are changed; names, erased."""
    TOKEN = "token"
    SERVER = "server"
    CLUSTER = "cluster"
    """Records of a cluster whose scheduler delivers them."""
    PRICE = "price"
    """What an hour of a GPU costs."""
    BUDGET = "budget"
    """What a queue may spend."""


class Reach(StrEnum):
    """Which resources of a subtree a role reaches."""

    OWN = "own"
    ALL = "all"


Permission = tuple[AccessVerb, ResourceKind]
"""A verb and what it is done to."""

_V, _K = AccessVerb, ResourceKind
_EVERY = tuple(each for each in Role if each is not Role.REPORTER)
_SUBMITTERS = (Role.SUBMITTER, Role.MAINTAINER, Role.OWNER, Role.ADMIN)
_MAINTAINERS = (Role.MAINTAINER, Role.OWNER, Role.ADMIN)


def _row(every: tuple[Role, ...], own: tuple[Role, ...] = ()) -> Mapping[Role, Reach]:
    """The roles of a permission: those that reach every resource, and those that reach theirs."""
    return MappingProxyType(dict.fromkeys(own, Reach.OWN) | dict.fromkeys(every, Reach.ALL))


PERMISSIONS: Mapping[Permission, Mapping[Role, Reach]] = MappingProxyType(
    {
        (_V.VIEW, _K.WORKLOAD): _row(_EVERY),
        (_V.SUBMIT, _K.WORKLOAD): _row(_SUBMITTERS),
        (_V.UPDATE, _K.WORKLOAD): _row(_MAINTAINERS, (Role.SUBMITTER,)),
        (_V.STOP, _K.WORKLOAD): _row((*_MAINTAINERS, Role.OPERATOR), (Role.SUBMITTER,)),
        (_V.ENTER, _K.WORKLOAD): _row((Role.ADMIN,), _SUBMITTERS),
        (_V.CONNECT, _K.WORKLOAD): _row(_SUBMITTERS),
        (_V.VIEW, _K.QUEUE): _row(_EVERY),
        (_V.CHANGE, _K.QUEUE): _row((Role.OWNER, Role.ADMIN)),
        (_V.VIEW, _K.FLEET): _row(_EVERY),
        (_V.CHANGE, _K.FLEET): _row((Role.OPERATOR, Role.ADMIN)),
        (_V.VIEW, _K.POLICY): _row(_EVERY),
        (_V.CHANGE, _K.POLICY): _row((Role.OPERATOR, Role.ADMIN)),
        (_V.CHANGE, _K.SECRET): _row((Role.ADMIN,), _SUBMITTERS),
        (_V.GRANT, _K.ACCESS): _row((Role.OWNER, Role.ADMIN)),
        (_V.CHANGE, _K.ACCESS): _row((Role.ADMIN,)),
        (_V.AUDIT, _K.ACCESS): _row((Role.MAINTAINER, Role.OWNER, Role.AUDITOR, Role.ADMIN)),
        (_V.GRANT, _K.TOKEN): _row((Role.ADMIN,)),
        (_V.HALT, _K.SERVER): _row((Role.ADMIN,)),
        (_V.DELIVER, _K.CLUSTER): _row((Role.REPORTER, Role.ADMIN)),
        (_V.VIEW, _K.PRICE): _row(_EVERY),
        (_V.CHANGE, _K.PRICE): _row((Role.ADMIN,)),
        (_V.VIEW, _K.BUDGET): _row(_EVERY),
        (_V.CHANGE, _K.BUDGET): _row((Role.ADMIN,)),
    }
)
"""Verb and resource -> the roles that allow it, and how far."""

_REACH: Mapping[Reach | None, int] = {None: 0, Reach.OWN: 1, Reach.ALL: 2}


def within(role: Role, other: Role) -> bool:
    """Whether everything that one role allows, another one allows as well."""
    return all(_REACH[row.get(role)] <= _REACH[row.get(other)] for row in PERMISSIONS.values())
