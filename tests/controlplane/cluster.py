"""A cluster as one test sees it: a client without waits, and shorthands."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx2
import msgspec
from tests.controlplane import manifests
from tests.controlplane.line import Line
from tests.controlplane.manifests import Object
from tests.effort import pause

from benchmarks.controlplane.control_plane import ControlPlane
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint, load

FORMS = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
}
Objects = list[Object]
Names = list[str]
PATIENCE_S = 30.0
AT_ONCE = 16


class Refused(Exception):
    """The API server said no; `status` is the HTTP status, `body` what came with it."""

    def __init__(self, what: str, status: int, body: str) -> None:
        super().__init__(f"{what}: {status} {body}")
        self.status, self.body = status, body


class Cluster:
    """What a test does to the API server, as its administrator and at once.

    Args:
        plane: the control plane.
        token: of another user than the administrator.
    """

    def __init__(self, plane: ControlPlane, token: str = "") -> None:
        self.plane = plane
        self._paths: dict[tuple[str, str], tuple[str, bool]] = {}
        self._line = Line(plane.url, plane.ca, token or plane.token())

    def close(self) -> None:
        """Close its connections."""
        self._line.close()

    @cached_property
    def kubeconfig(self) -> Path:
        """A kubeconfig of the administrator."""
        return self.plane.kubeconfig()

    @cached_property
    def endpoint(self) -> ApiEndpoint:
        """The same as the package's clients take it."""
        return load(self.kubeconfig)

    def kubeconfig_of(self, user: str, groups: Sequence[str] = (), namespace: str = "") -> Path:
        """A kubeconfig of any user in any groups, for tests of permissions."""
        return self.plane.kubeconfig(user, groups, namespace=namespace)

    def account_kubeconfig(self, namespace: str, name: str) -> Path:
        """A kubeconfig of a service account, which need not exist."""
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        return self.kubeconfig_of(f"system:serviceaccount:{namespace}:{name}", groups, namespace)

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """One request; the answer as JSON.

        Raises:
            Refused: the status is 400 or above.
            httpx2.TransportError: there is no answer.
        """
        status, text = self._line.ask(method, path, body, params or {}, headers or {})
        if status >= httpx2.codes.BAD_REQUEST:
            raise Refused(f"{method} {path}", status, text.decode())
        return msgspec.json.decode(text)

    def get(self, path: str) -> Object:
        """The object at a path."""
        found: Object = self.call("GET", path)
        return found

    def find(self, path: str) -> Object | None:
        """The object at a path; None when it is absent."""
        try:
            return self.get(path)
        except Refused as refused:
            if refused.status != httpx2.codes.NOT_FOUND:
                raise
            return None

    def list(self, path: str, **params: str) -> Objects:
        """The items of a collection; `params` as `labelSelector="a=b"`."""
        found: Objects = self.call("GET", path, params=params)["items"]
        return found

    def create(self, *objects: Object) -> Objects:
        """Create them, several at once when they are of one kind; what the server answered."""
        if len({each["kind"] for each in objects}) > 1 or len(objects) == 1:
            return [self.call("POST", self.collection(each), each) for each in objects]
        paths = [self.collection(each) for each in objects]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(lambda path, each: self.call("POST", path, each), paths, objects))

    def apply(self, *objects: Object) -> Objects:
        """Create them one after the other, or merge them into what is there."""
        return [self._apply(each) for each in objects]

    def _apply(self, body: Object) -> Object:
        path = self.path(body)
        if self.find(path) is None:
            return self.create(body)[0]
        return self.patch(path, body)

    def define(self, *definitions: Object) -> None:
        """Create custom resource definitions, and wait until all their versions are served.

        A scheduler that finds a kind absent looks for it again only after half a minute.
        """
        self.apply(*definitions)
        for spec in (each["spec"] for each in definitions):
            for version in (each["name"] for each in spec["versions"] if each["served"]):
                path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
                self.wait(lambda path=path: self._is_served(path), path)

    def _is_served(self, path: str) -> bool:
        """Whether a collection can be listed; a new one is absent first, then busy."""
        try:
            self.get(path)
        except Refused as refused:
            if refused.status not in {httpx2.codes.NOT_FOUND, httpx2.codes.TOO_MANY_REQUESTS}:
                raise
            return False
        return True

    def patch(self, path: str, body: object, form: str = "merge") -> Object:
        """Change an object, or its `/status`; `form` is one of `FORMS`."""
        headers = {"Content-Type": FORMS[form]}
        found: Object = self.call("PATCH", path, body, headers=headers)
        return found

    def delete(self, path: str, *, grace: int | None = None, orphan: bool = False) -> None:
        """Delete an object or a whole collection; an absent one is deleted already.

        Args:
            path: of it.
            grace: seconds; 0 removes a pod at once; None = its own.
            orphan: leave what it owns; only kube-controller-manager does anything else.
        """
        options: Object = {} if grace is None else {"gracePeriodSeconds": grace}
        options["propagationPolicy"] = "Orphan" if orphan else "Background"
        try:
            self.call("DELETE", path, options)
        except Refused as refused:
            if refused.status != httpx2.codes.NOT_FOUND:
                raise

    def add_namespace(self, name: str, **labels: str) -> str:
        """Create a namespace."""
        meta = {"name": name, "labels": labels}
        self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        return name

    def add_nodes(
        self,
        count: int,
        *,
        prefix: str = "node",
        labels: Mapping[str, str] | Callable[[int], Mapping[str, str]] | None = None,
        **rest: Any,
    ) -> Names:
        """Create nodes `PREFIX-0`, `PREFIX-1`, ...; their names.

        Args:
            count: how many.
            prefix: of their names.
            labels: the same for all, or by number.
            rest: as for `manifests.node`.
        """
        names = [f"{prefix}-{index}" for index in range(count)]
        own = [labels(i) if callable(labels) else labels for i in range(count)]
        pairs = zip(names, own, strict=True)
        self.create(*(manifests.node(name, labels=each, **rest) for name, each in pairs))
        return names

    def add_pods(self, count: int, *, prefix: str = "pod", **rest: Any) -> Names:
        """Create pods `PREFIX-0`, `PREFIX-1`, ...; `rest` as for `manifests.pod`."""
        names = [f"{prefix}-{index}" for index in range(count)]
        self.create(*(manifests.pod(name, **rest) for name in names))
        return names

    def add_gang(self, name: str, size: int, **rest: Any) -> Names:
        """Create the pods of a gang; `rest` as for `manifests.pod`."""
        pods = manifests.gang(name, size, **rest)
        self.create(*pods)
        return [pod["metadata"]["name"] for pod in pods]

    def pods(self, namespace: str = "", **params: str) -> dict[str, Object]:
        """Pods by name, of one namespace or of all."""
        inside = f"/namespaces/{namespace}" if namespace else ""
        return _by_name(self.list(f"/api/v1{inside}/pods", **params))

    def nodes(self) -> dict[str, Object]:
        """Nodes by name."""
        return _by_name(self.list("/api/v1/nodes"))

    def bound(self, namespace: str = "") -> dict[str, str]:
        """Names of bound pods -> their nodes."""
        pods = self.pods(namespace)
        return {
            name: pod["spec"]["nodeName"] for name, pod in pods.items() if "nodeName" in pod["spec"]
        }

    def bind(self, pod: str, node: str, namespace: str = "default") -> None:
        """Bind a pod, as another scheduler might."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
        self.call("POST", f"/api/v1/namespaces/{namespace}/pods/{pod}/binding", body)

    def set_phase(self, pod: str, phase: str, namespace: str = "default") -> None:
        """Say for the kubelet how a pod is."""
        self.patch(
            f"/api/v1/namespaces/{namespace}/pods/{pod}/status", {"status": {"phase": phase}}
        )

    def set_node(self, name: str, *, ready: bool) -> None:
        """Say for the kubelet whether a node is ready."""
        condition = {"type": "Ready", "status": "True" if ready else "False", "reason": "Test"}
        path = f"/api/v1/nodes/{name}/status"
        self.patch(path, {"status": {"conditions": [condition]}}, "strategic")

    def path(self, body: Object) -> str:
        """Where an object is or would be."""
        return f"{self.collection(body)}/{body['metadata']['name']}"

    def collection(self, body: Object) -> str:
        """The path of the collection that an object belongs to."""
        prefix, plural, inside = self._resource(body["apiVersion"], body["kind"])
        namespace = body["metadata"].get("namespace", "default")
        return f"{prefix}/namespaces/{namespace}/{plural}" if inside else f"{prefix}/{plural}"

    def _resource(self, version: str, kind: str) -> tuple[str, str, bool]:
        prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if (version, kind) not in self._paths:
            self.wait(lambda: self._discover(prefix, version, kind), f"{kind} of {version}")
        return prefix, *self._paths[version, kind]

    def _discover(self, prefix: str, version: str, kind: str) -> bool:
        """Whether a kind is served; one of a new definition takes a second."""
        found = self.find(prefix) or {"resources": []}
        for each in found["resources"]:
            if "/" not in each["name"]:
                self._paths[version, each["kind"]] = (each["name"], each["namespaced"])
        return (version, kind) in self._paths

    def wait(self, ready: Callable[[], object], what: str, limit_s: float = PATIENCE_S) -> Any:
        """Ask again and again until the answer is true; the answer.

        Raises:
            AssertionError: it is not after `limit_s` seconds; has what pods say by then.
        """
        try:
            return wait(ready, what, limit_s)
        except AssertionError as error:
            error.add_note("\n".join(map(line_of, self.list("/api/v1/pods"))) or "no pods")
            raise

    def wait_bound(
        self, names: Iterable[str], namespace: str = "default", limit_s: float = PATIENCE_S
    ) -> dict[str, str]:
        """Wait until these pods are bound; their nodes."""
        wanted = set(names)
        what = f"{len(wanted)} pods bound"
        self.wait(lambda: wanted <= self.bound(namespace).keys(), what, limit_s)
        return {name: node for name, node in self.bound(namespace).items() if name in wanted}


def wait(ready: Callable[[], object], what: str, limit_s: float = PATIENCE_S) -> Any:
    """Ask again and again until the answer is true; the answer.

    Raises:
        AssertionError: it is not after `limit_s` seconds.
    """
    begun = time.monotonic()
    while not (answer := ready()):
        assert time.monotonic() < begun + limit_s, f"still waiting for {what} after {limit_s:g} s"
        pause(begun)
    return answer


def line_of(pod: Object) -> str:
    """A pod: where it is, and why it waits."""
    meta, status = pod["metadata"], pod["status"]
    found = [each.get("message", "") for each in status.get("conditions", ())]
    where = pod["spec"].get("nodeName", "no node")
    leaves = ", leaving" * ("deletionTimestamp" in meta)
    name = f"{meta['namespace']}/{meta['name']}"
    return f"{name}: {where}, {status.get('phase')}{leaves}; {' '.join(filter(None, found))}"


def _by_name(objects: Iterable[Object]) -> dict[str, Object]:
    return {each["metadata"]["name"]: each for each in objects}
