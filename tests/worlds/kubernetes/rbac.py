"""The rights that the manifests give the scheduler, for any user of a test's API server.

kubeconfig = bind_chart_role(cluster, "scheduler")
for right in chart_rights():
    kubeconfig = bind_chart_role(cluster, f"lacks-{n}", without(right))
"""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from tests.controlplane.cluster import Cluster
from tests.controlplane.manifests import Object

DEPLOY = Path(__file__).parents[3] / "deploy"
NAMESPACE = "ganglion-system"
RBAC = "rbac.authorization.k8s.io"
SCHEDULERS = (
    ("ClusterRole", "ganglion"),
    ("ClusterRole", "ganglion-workloads"),
    ("Role", "ganglion-leader"),
)


class Right(NamedTuple):
    """One verb on one resource; `inside` = only in the scheduler's namespace."""

    group: str
    resource: str
    verb: str
    inside: bool = False
    name: str = ""

    def __str__(self) -> str:
        where = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {where}" + (f" {self.name}" if self.name else "")


def manifests(name: str) -> list[Object]:
    """The objects of a file of deploy/."""
    return [each for each in yaml.safe_load_all((DEPLOY / name).read_text("utf-8")) if each]


@cache
def chart_rights() -> tuple[Right, ...]:
    """Everything that the scheduler may do, right by right."""
    roles = {(each["kind"], each["metadata"]["name"]): each for each in manifests("ganglion.yaml")}
    return tuple(
        right
        for key in SCHEDULERS
        for rule in roles[key]["rules"]
        for right in _rights(rule, key[0] == "Role")
    )


def _rights(rule: Object, inside: bool) -> Iterator[Right]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                for name in rule.get("resourceNames", [""]):
                    yield Right(group, resource, verb, inside, name)


def without(*rights: Right) -> tuple[Right, ...]:
    """All rights but these."""
    assert set(rights) <= set(chart_rights())
    return tuple(each for each in chart_rights() if each not in rights)


LIVES = (
    Right("apps", "deployments/scale", "patch"),
    Right("apps", "statefulsets/scale", "patch"),
    Right("leaderworkerset.x-k8s.io", "leaderworkersets/scale", "patch"),
    Right("apps", "statefulsets", "patch"),
)
"""Rights to manage services and workspaces."""


def define_kinds(cluster: Cluster) -> None:
    """Create the custom resource definitions and wait until they are served."""
    cluster.define(*manifests("crds.yaml"))


def bind_chart_role(
    cluster: Cluster, user: str, rights: Sequence[Right] | None = None, namespace: str = NAMESPACE
) -> Path:
    """Give a user the scheduler's rights, or these; once they hold, a kubeconfig of that user.

    The scheduler's namespace is made where it is missing.
    """
    given = chart_rights() if rights is None else rights
    if cluster.find(f"/api/v1/namespaces/{namespace}") is None:
        cluster.add_namespace(namespace)
    for inside in (False, True):
        _bind(cluster, user, [each for each in given if each.inside == inside], inside, namespace)
    for inside in (False, True):
        last = [each for each in given if each.inside == inside][-1:]
        for right in last:
            cluster.wait(lambda each=right: may(cluster, user, each, namespace), f"{user}: {right}")
    return cluster.kubeconfig_of(user, namespace=namespace)


def may(cluster: Cluster, user: str, right: Right, namespace: str = NAMESPACE) -> bool:
    """Whether the API server would let a user do that."""
    resource, _, sub = right.resource.partition("/")
    asked = {
        "group": right.group,
        "resource": resource,
        "subresource": sub,
        "verb": right.verb,
        "name": right.name,
        "namespace": namespace if right.inside else "",
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": asked},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(cluster.call("POST", path, review)["status"]["allowed"])


def _bind(
    cluster: Cluster, user: str, rights: Sequence[Right], inside: bool, namespace: str
) -> None:
    kind = "Role" if inside else "ClusterRole"
    meta = {"name": f"test-{user}"} | ({"namespace": namespace} if inside else {})
    rules = [
        {
            "apiGroups": [each.group],
            "resources": [each.resource],
            "verbs": [each.verb],
            **({"resourceNames": [each.name]} if each.name else {}),
        }
        for each in rights
    ]
    version = f"{RBAC}/v1"
    cluster.apply(
        {"apiVersion": version, "kind": kind, "metadata": meta, "rules": rules},
        {
            "apiVersion": version,
            "kind": f"{kind}Binding",
            "metadata": meta,
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": f"test-{user}"},
            "subjects": [{"kind": "User", "apiGroup": RBAC, "name": user}],
        },
    )
