"""Users who may do everything, and what policies inside the API server say to them."""

from collections.abc import Callable, Iterable

from tests.controlplane.cluster import Cluster, Refused
from tests.controlplane.manifests import Object

ROLE = "rbac.authorization.k8s.io"
ADMISSION = "admissionregistration.k8s.io/v1"


def policies(objects: Iterable[Object]) -> list[Object]:
    """Those of some objects that are admission policies or bind them."""
    return [each for each in objects if each["apiVersion"] == ADMISSION]


def person(cluster: Cluster, name: str) -> Cluster:
    """A client of a user who may do anything in namespaces."""
    if cluster.find(f"/apis/{ROLE}/v1/clusterrolebindings/{name}") is None:
        cluster.create(
            {
                "apiVersion": f"{ROLE}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": name},
                "roleRef": {"apiGroup": ROLE, "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"kind": "User", "apiGroup": ROLE, "name": name}],
            }
        )
    return Cluster(cluster.plane, cluster.plane.token(name))


def refused(cluster: Cluster, what: Callable[[], object], text: str) -> None:
    """Policies are taken up after a moment: once they are, it is refused so."""

    said = [""]

    def is_refused() -> bool:
        try:
            what()
        except Refused as error:
            said[0] = error.body
        return text in said[0]

    try:
        cluster.wait(is_refused, f"refused: {text}", 15.0)
    except AssertionError as error:
        raise AssertionError(f"{error}; the server says {said[0] or 'yes'}") from error
