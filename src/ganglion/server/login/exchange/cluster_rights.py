"""How far the roles of a cluster let service accounts go at a server. Pure.

Objects `Queue` of a cluster have no namespace, and neither have the rights on them.
"""

from collections.abc import Iterator, Sequence
from shlex import quote

from msgspec import json

from ganglion.identity.roles import Role, within
from ganglion.model.errors import NoClusterRight
from ganglion.server.access.reviews import ACCOUNT, GROUP, ReviewedRight, ServiceAccount

QUEUES = "queues"
SEE, USE, CHANGE = "get", "use", "update"


def claims_of(account: ServiceAccount) -> dict[str, str]:
    """What rules of exchange may ask for: `sub`, `uid`, `namespace` and `name`."""
    namespace, name = _parts(account)
    return {"sub": account.username, "uid": account.uid, "namespace": namespace, "name": name}


def verb_for(role: Role) -> str:
    """The verb on a queue of a cluster that a role needs."""
    if within(role, Role.VIEWER):
        return SEE
    return USE if within(role, Role.SUBMITTER) else CHANGE


def parts_of(role: Role) -> tuple[Role, ...]:
    """A role, and the lesser ones that it includes, each with a verb of its own."""
    lesser = (each for each in (Role.SUBMITTER, Role.VIEWER) if within(each, role))
    return tuple({verb_for(each): each for each in (role, *lesser)}.values())


def rights_for(role: Role, queues: Sequence[str]) -> Iterator[ReviewedRight]:
    """The rights of which one is enough for a role: on a queue, one above it, or all of them."""
    return (ReviewedRight(verb_for(role), QUEUES, name=each) for each in queues)


def missing(account: ServiceAccount, role: Role, queue: str) -> NoClusterRight:
    """Nothing of a role is left of an account; says what its cluster has to allow, and how."""
    verb = verb_for(role)
    what = f"queue {queue!r}" if queue else "all queues"
    return NoClusterRight(
        f"no role of the cluster lets {account.username} {verb} {what} of {GROUP},"
        f" which role {role} needs",
        _commands(account, verb, queue),
    )


def _commands(account: ServiceAccount, verb: str, queue: str) -> str:
    """What grants the right; `kubectl create clusterrole` knows no `use` of other projects."""
    namespace, name = _parts(account)
    role = f"ganglion-{verb}-{queue or 'all-queues'}"
    rule = {"apiGroups": [GROUP], "resources": [QUEUES], "verbs": [verb]}
    made = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": role},
        "rules": [rule | ({"resourceNames": [queue]} if queue else {})],
    }
    return (
        f"echo {quote(json.encode(made).decode())} | kubectl apply -f - &&"
        f" kubectl create clusterrolebinding {quote(f'{role}-{namespace}-{name}')}"
        f" --clusterrole={quote(role)} --serviceaccount={namespace}:{name}"
    )


def _parts(account: ServiceAccount) -> tuple[str, str]:
    """Namespace and name."""
    namespace, _, name = account.username.removeprefix(ACCOUNT).partition(":")
    return namespace, name
