"""The chart's server, as a real API server keeps it, runs and does what it is for.

The test is the kubelet: it makes the mounts of the pod as folders, and starts the program of the
container with the arguments and the environment that are stored. Paths that arguments and files
name are those of the folders; the account of the pod, which none of them names, is mounted where
every pod has it.
"""

import os
import re
import signal
import ssl
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from tools.manifests import CHART
from tools.portal import STATIC

from ganglion.model.queue import Queue
from ganglion.server.cluster.outbox.outbox import Outbox, OutboxWish
from ganglion.server.login.exchange.grant import EXCHANGE, JWT
from ganglion.transport.http import CA_FILE
from ganglion.worlds.kubernetes.sign_in.config import SERVICE_ACCOUNT
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.manifests import Object
from tests.forking import COMMAND_LINE, SERVER, Forked
from tests.ports import unused
from tests.server.login.exchange.test_accounts import account, issuer_of, token_of
from tests.server.process import until
from tests.transport.tls.certificates import write_pair
from tests.worlds.kubernetes.controller.stage import Stage
from tests.worlds.kubernetes.installation import mounted
from tests.worlds.kubernetes.installation.test_helm import run
from tests.worlds.kubernetes.rbac import NAMESPACE, RBAC, Right, bind_chart_role

pytestmark = pytest.mark.usefixtures("helm")

STATEFUL_SET = f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets/ganglion-server"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/ganglion"
LOGIN = "/etc/ganglion/login"
SPACE = "research"
POD_IP = "127.0.0.7"
"""By which kubelets and others reach the pod; certificates name the Service."""
ENTRYPOINT = '["ganglion"]'
REVIEWS = (
    Right("authentication.k8s.io", "tokenreviews", "create"),
    Right("authorization.k8s.io", "subjectaccessreviews", "create"),
)


class ServerPod:
    """The one pod of the server.

    Args:
        cluster: that keeps it.
        root: in place of the root of its file system.
    """

    def __init__(self, cluster: Cluster, root: Path) -> None:
        self._cluster, self._root = cluster, root
        self._spec: Object = cluster.get(STATEFUL_SET)["spec"]["template"]["spec"]
        (self.container,) = self._spec["containers"]
        volumes = {each["name"]: each for each in self._spec["volumes"]}
        self._mounts = {each["mountPath"]: each["name"] for each in self.container["volumeMounts"]}
        for path, name in self._mounts.items():
            self.inside(path).mkdir(parents=True)
            secret = volumes.get(name, {}).get("secret")
            if secret:
                self._put(self.inside(path), secret)
        server = httpx2.URL(cluster.plane.url)
        self.environ = {
            "PATH": os.environ["PATH"],
            "TMPDIR": str(self.inside("/tmp")),
            "KUBERNETES_SERVICE_HOST": server.host,
            "KUBERNETES_SERVICE_PORT": str(server.port),
            **{each["name"]: self._value(each) for each in self.container["env"]},
        }
        self.account = self._account()

    def inside(self, path: str) -> Path:
        """Where a folder of the pod lies."""
        return self._root / path.lstrip("/")

    def _here(self, text: str) -> str:
        """A text in which paths of mounts are those of the folders."""
        paths = "|".join(map(re.escape, self._mounts))
        return re.sub(rf"({paths})(?=/|$)", lambda found: str(self.inside(found[1])), text)

    def _put(self, folder: Path, source: Object) -> None:
        """Write the files of a Secret; as of a user, of whom others have no rights."""
        for key, text in self._secret(source["secretName"]).items():
            file = folder / key
            file.write_text(self._here(text))
            file.chmod(source["defaultMode"] & 0o700)

    def _secret(self, name: str) -> dict[str, str]:
        found = self._cluster.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/{name}")
        return {key: b64decode(value).decode() for key, value in found["data"].items()}

    def _value(self, variable: Object) -> str:
        """What a variable of the container is, given or kept in a Secret."""
        if "value" in variable:
            return self._here(variable["value"])
        source = variable["valueFrom"]["secretKeyRef"]
        return self._secret(source["name"])[source["key"]]

    def _account(self) -> Path | None:
        """The folder of the pod's service account; None = the pod gets none."""
        if not self._spec.get("automountServiceAccountToken", True):
            return None
        folder = self.inside(str(SERVICE_ACCOUNT))
        folder.mkdir(parents=True)
        token = token_of(self._cluster, self._spec["serviceAccountName"], NAMESPACE, "")
        (folder / "token").write_text(token)
        (folder / "namespace").write_text(NAMESPACE)
        (folder / "ca.crt").write_bytes(self._cluster.plane.ca.read_bytes())
        return folder

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the program until the end of the context, which is that of the pod."""
        with self.log.open("ab") as log:
            program, arguments = COMMAND_LINE, [self._here(e) for e in self.container["args"]]
            if self.account:
                program, arguments = mounted.__name__, [str(self.account), *arguments]
            process = Forked(
                *(program, arguments, log.fileno()), beside=SERVER, environ=self.environ
            )
        try:
            yield
        finally:
            os.kill(process.pid, signal.SIGTERM)
            code = process.wait(self._spec["terminationGracePeriodSeconds"])
        assert code == 0, self.log.read_text()

    @property
    def log(self) -> Path:
        return self._root.with_suffix(".log")

    def probe(self, name: str) -> int:
        """What the kubelet is answered, which verifies no certificate; 0 = no connection."""
        how = self.container[f"{name}Probe"]["httpGet"]
        (port,) = (e["containerPort"] for e in self.container["ports"] if e["name"] == how["port"])
        url = f"{how['scheme'].lower()}://{POD_IP}:{port}{how['path']}"
        try:
            answer = httpx2.get(url, verify=False)
        except httpx2.TransportError:
            return 0
        return answer.status_code

    def command(self, *words: str) -> str:
        """What `kubectl exec` prints."""
        out = self._root.with_suffix(".out")
        with out.open("wb") as file:
            environ = {**self.environ, CA_FILE: str(self.inside("/etc/ganglion/tls") / "tls.crt")}
            code = Forked(COMMAND_LINE, words, file.fileno(), environ=environ).wait()
        assert code == 0, out.read_text()
        return out.read_text().strip()


def secret(name: str, files: Mapping[str, str]) -> Object:
    data = {key: b64encode(text.encode()).decode() for key, text in files.items()}
    meta = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}


def _text(path: str) -> str:
    return Path(path).read_text()


class Installed(NamedTuple):
    """How the chart is installed.

    Attributes:
        review: of login.yaml.
        values: of the chart.
        database: URL of the ledger; empty = it is SQLite in the volume.
    """

    review: str
    values: tuple[str, ...] = ()
    database: str = ""


def _with_kubeconfig(_: pytest.FixtureRequest) -> Installed:
    return Installed(f"{LOGIN}/kubeconfig")


def _in_cluster(request: pytest.FixtureRequest) -> Installed:
    """With PostgreSQL by URL; its pod asks the API server as its own service account."""
    if not mounted.possible():
        pytest.skip("no service account can be mounted here: `unshare --mount` is refused")
    url: str = request.getfixturevalue("database")
    values = ("server.reviews=true", "server.database.secretName=database")
    return Installed("in-cluster", values, url)


@pytest.fixture(params=[_with_kubeconfig, _in_cluster])
def installed(request: pytest.FixtureRequest) -> Installed:
    found: Installed = request.param(request)
    return found


@pytest.fixture
def pod(cluster: Cluster, installed: Installed, tmp_path: Path) -> Iterator[ServerPod]:
    """The server of a chart that is installed, with a certificate and with `login.yaml`."""
    port, host = unused(), f"ganglion-server.{NAMESPACE}.svc"
    review = bind_chart_role(cluster, "reviewer", REVIEWS)
    cluster.add_namespace(SPACE)
    cluster.create(account("trainer", SPACE))
    pair = write_pair(tmp_path, name=host)
    issuer = issuer_of(token_of(cluster, "trainer", SPACE, f"https://{host}:{port}"))
    login = (
        f"public_url: https://{host}:{port}\n"
        f"exchange: [{{issuer: {issuer}, review: {installed.review}, user: sa-trainer,"
        f" claims: {{namespace: {SPACE}, name: trainer}}}}]\n"
    )
    cluster.create(
        secret("cert", {"tls.crt": _text(pair.cert), "tls.key": _text(pair.key)}),
        secret("login", {"login.yaml": login, "kubeconfig": review.read_text()}),
        secret("database", {"url": installed.database}),
    )
    values = (
        *("server.enabled=true", f"server.port={port}", "server.tlsSecret=cert"),
        *("server.loginSecret=login", *installed.values),
        *("history.cluster=east", "history.tokenSecret.name=reporter", "history.caSecret=cert"),
    )
    sets = [word for each in values for word in ("--set", each)]
    run(cluster.kubeconfig, tmp_path, "install", "ganglion", str(CHART), *sets)
    try:
        yield ServerPod(cluster, tmp_path / "pod")
    finally:
        run(cluster.kubeconfig, tmp_path, "uninstall", "ganglion")


def test_the_server_of_the_chart_is_ready_keeps_what_is_delivered_and_knows_service_accounts(
    pod: ServerPod,
    installed: Installed,
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert f"ENTRYPOINT {ENTRYPOINT}" in (CHART.parents[1] / "Containerfile").read_text()
    (port,) = (each["containerPort"] for each in pod.container["ports"])
    with pod.running():
        until(lambda: pod.probe("startup") == 200)
        assert (pod.probe("liveness"), pod.probe("readiness")) == (200, 200)
        monkeypatch.setenv(CA_FILE, str(pod.inside("/etc/ganglion/tls") / "tls.crt"))
        _deliver(pod, cluster, tmp_path, f"https://127.0.0.1:{port}")
        assert '"name": "east"' in pod.command("clusters", "-o", "json")
        _open_portal(pod, port)
        _sign_in(pod, cluster, port)
    in_volume = any(pod.inside("/var/lib/ganglion").rglob("ledger.db"))
    assert in_volume is not bool(installed.database)


def _deliver(pod: ServerPod, cluster: Cluster, folder: Path, url: str) -> None:
    """A turn of a scheduler arrives, as the Deployment of the scheduler delivers it."""
    (container,) = cluster.get(DEPLOYMENT)["spec"]["template"]["spec"]["containers"]
    given = dict(e.split("=", 1) for e in container["args"] if e.startswith("--deliver"))
    name = given["--deliver-as"]
    token = folder / "token"
    token.write_text(pod.command("clusters", "--register", name).split()[-1])
    stage = Stage(queues=(Queue("default"),))
    stage.show(manifests.node("n0", gpus=8), *manifests.gang("train", 2, gpus=2))
    stage.turn()
    outbox = Outbox(OutboxWish(folder / "outbox", url, name, token), "pod-a")
    outbox.start()
    outbox.decided(stage.controller, stage.now)
    outbox.stop()
    assert (outbox.depth, outbox.failing) == (0, "")


def _open_portal(pod: ServerPod, port: int) -> None:
    """The link that `kubectl exec` prints counts once for a browser that a port-forward serves."""
    if not (STATIC / "manifest.json").exists():  # the portal is not built here
        return
    url, _, code = pod.command("portal").split()[-1].partition("/#code=")
    assert url == f"https://127.0.0.1:{port}"
    answers = [
        httpx2.post(f"{url}/login/portal", data={"code": code}, verify=False).status_code
        for _ in range(2)
    ]
    assert answers == [204, 403]


def _sign_in(pod: ServerPod, cluster: Cluster, port: int) -> None:
    """A pod of another namespace gets what a role of the chart lets it."""
    host = f"ganglion-server.{NAMESPACE}.svc"
    context = ssl.create_default_context(cafile=pod.inside("/etc/ganglion/tls") / "tls.crt")
    form = {
        "grant_type": EXCHANGE,
        "subject_token": token_of(cluster, "trainer", SPACE, f"https://{host}:{port}"),
        "subject_token_type": JWT,
    }

    def asked(method: str, path: str, **more: Any) -> httpx2.Response:
        headers = {"Host": f"{host}:{port}", **more.pop("headers", {})}
        extensions = {"sni_hostname": host}
        url = f"https://{POD_IP}:{port}{path}"
        with httpx2.Client(verify=context) as client:
            return client.request(method, url, headers=headers, extensions=extensions, **more)

    refused = asked("POST", "/login/token", data=form)
    assert (refused.status_code, refused.json()["code"]) == (403, "access.cluster"), refused.text
    cluster.create(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "trainer"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "ganglion-queue-user"},
            "subjects": [{"kind": "ServiceAccount", "name": "trainer", "namespace": SPACE}],
        }
    )
    given = until(lambda: _given(asked("POST", "/login/token", data=form)))
    assert given["scope"] == "role:submitter"
    bearer = {"Authorization": f"Bearer {given['access_token']}"}
    assert asked("GET", "/api/v1/whoami", headers=bearer).json()["user"] == "sa-trainer"


def _given(answer: httpx2.Response) -> Object:
    return dict(answer.json()) if answer.status_code == 200 else {}
