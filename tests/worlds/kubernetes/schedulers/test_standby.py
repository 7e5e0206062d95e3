"""A scheduler that does not lead stands by: warm, silent, and honest about it."""

import fcntl
import json
import re
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ganglion.cli.main import run
from ganglion.cli.output import screen
from ganglion.extensions import load
from ganglion.worlds.kubernetes.scheduler import Scheduler
from tests.cli.harness import Done
from tests.controlplane.cluster import Cluster, Refused
from tests.controlplane.manifests import pod as pod_manifest
from tests.worlds.kubernetes.process import SchedulerProcess
from tests.worlds.kubernetes.rbac import NAMESPACE, bind_chart_role

GET_ADDRESS = 0x8915
"""SIOCGIFADDR of Linux."""
SERVICES = f"/api/v1/namespaces/{NAMESPACE}"
PODS = f"{SERVICES}/pods"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/ganglion"
Start = Callable[[str], "Running"]
Ganglion = Callable[..., Done]


class Running(SchedulerProcess):
    """A scheduler whose views can be reached from the API server."""

    def __init__(self, kubeconfig: Path, name: str) -> None:
        lease = ("--namespace", NAMESPACE, "--lease", "ganglion", "--identity", name)
        super().__init__(kubeconfig, *lease, "--listen", "0.0.0.0:0")

    def url(self) -> str:
        """Where its views are; empty before they are."""
        found = re.search(r"metrics on http://\S+:(\d+)\.\n", self.log)
        return f"http://127.0.0.1:{found.group(1)}" if found else ""

    def ask(self, path: str) -> httpx2.Response:
        return httpx2.get(self.url() + path, trust_env=False, timeout=10)

    def is_ready(self) -> bool:
        return bool(self.url()) and self.ask("/readyz").is_success


@pytest.fixture
def address() -> str:
    """An address of this machine that the API server may be led to: loopback is forbidden."""
    found = next((each for each in map(_address_of, _interfaces()) if _is_good(each)), "")
    if not found:
        pytest.skip("this machine has no address but loopback")
    return found


def _interfaces() -> list[str]:
    return [name for _, name in socket.if_nameindex()]


def _address_of(interface: str) -> str:
    """Its IPv4 address; empty = it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("256s", interface.encode()[:15])
        try:
            answer = fcntl.ioctl(any_socket.fileno(), GET_ADDRESS, asked)
        except OSError:
            return ""
    return socket.inet_ntoa(answer[20:24])


def _is_good(address: str) -> bool:
    return bool(address) and not address.startswith(("127.", "169.254."))


@pytest.fixture
def start(cluster: Cluster, address: str) -> Iterator[Start]:
    """Start a scheduler by name; the first one has the lead before another begins."""
    with ExitStack() as left:

        def begin(name: str) -> Running:
            kubeconfig = bind_chart_role(cluster, name)
            running = left.enter_context(Running(kubeconfig, name))
            cluster.wait(running.is_ready, f"{name} to be ready; it says {running.log}")
            cluster.wait(lambda: holder(cluster), "somebody to lead")
            serve(cluster, name, address, int(running.url().rpartition(":")[2]))
            return running

        yield begin


@pytest.fixture
def ganglion(
    cluster: Cluster, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> Ganglion:
    """Run a command in the namespace default."""
    for name in ("GANGLION_CONTEXT", "GANGLION_SCHEDULER", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)

    def call(*args: str) -> Done:
        screen.out.cache_clear()
        screen.err.cache_clear()
        code = run([*args, "--kubeconfig", str(cluster.kubeconfig), "--namespace", "default"])
        captured = capfdbinary.readouterr()
        return Done(code, captured.out.decode(), captured.err.decode())

    return call


def holder(cluster: Cluster) -> str:
    found = cluster.find(LEASE)
    return str(found["spec"].get("holderIdentity", "")) if found else ""


def serve(cluster: Cluster, name: str, address: str, port: int) -> None:
    """Let the service of the chart lead to one more scheduler, in a pod of that name."""
    meta: dict[str, Any] = {"name": "ganglion", "namespace": NAMESPACE}
    cluster.create(pod_manifest(name, namespace=NAMESPACE, scheduler="nobody"))
    cluster.patch(f"{PODS}/{name}/status", {"status": {"podIPs": [{"ip": address}]}})
    target = {"kind": "Pod", "name": name, "namespace": NAMESPACE}
    subset = {
        "addresses": [{"ip": address, "targetRef": target}],
        "ports": [{"name": "http", "port": port}],
    }
    before = cluster.find(f"{SERVICES}/endpoints/ganglion") or {"subsets": []}
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"ports": [{"name": "http", "port": 8080}]},
        },
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": meta,
            "subsets": [*before["subsets"], subset],
        },
    )


def proxied(cluster: Cluster) -> str:
    """The message of one of them, met through the API server; empty = it leads."""
    try:
        cluster.get(f"/api/v1/namespaces/{NAMESPACE}/services/http:ganglion:8080/proxy/v1/queues")
    except Refused as refused:
        return refused.body
    return ""


def test_the_command_line_meets_the_one_that_leads_until_it_is_told_to_end_and_hands_over(
    cluster: Cluster, start: Start, ganglion: Ganglion
) -> None:
    first, second = start("one"), start("two")
    cluster.add_nodes(1, gpus=1)
    cluster.wait_bound(cluster.add_pods(1, gpus=1))
    (waits,) = cluster.add_pods(1, prefix="waits", gpus=1)
    cluster.wait(lambda: "waits" in first.ask("/v1/workloads").text, "it to be known")

    cluster.wait(lambda: not proxied(cluster), "the way to the one that leads")
    cluster.wait(lambda: "environment.standby" in proxied(cluster), "the way to the other")
    told = second.ask("/v1/workloads")
    assert told.status_code == 503
    assert told.json()["code"] == "environment.standby"
    assert re.fullmatch(r"one_\w+ leads", told.json()["detail"])
    for path in ("/readyz", "/healthz", "/metrics"):
        assert second.ask(path).status_code == 200, "it is warm, and works"

    for _ in range(10):
        done = ganglion("ps", "-o", "json")
        assert done.code == 0, done.err
        assert "cannot be used" not in done.err
        assert {each["name"] for each in json.loads(done.out)} >= {waits}

    first.process.terminate()
    assert first.wait_dead(20), "it ends well before a kubelet would kill it"
    assert first.process.returncode == 0, first.log
    assert holder(cluster) == "" or holder(cluster).startswith("two"), "nobody waits for the dead"
    cluster.wait(lambda: second.ask("/v1/queues").is_success, "the standby to take over")


def test_after_a_kill_it_says_plainly_that_none_leads_and_takes_over_with_a_full_picture(
    cluster: Cluster, start: Start, ganglion: Ganglion
) -> None:
    first, second = start("one"), start("two")
    cluster.add_nodes(2, gpus=1)
    cluster.wait_bound(cluster.add_gang("early", 2, gpus=1))
    cluster.wait(lambda: "environment.standby" in proxied(cluster), "the way to the standby")
    first.kill()
    late = cluster.add_pods(1, prefix="late", gpus=1)
    assert second.ask("/v1/queues").status_code == 503, "the Lease of the dead has yet to run out"
    done = ganglion("ps")
    assert done.code == 0, done.err
    assert "no leader was reached (one_" in done.err
    assert "leads)" in done.err

    cluster.wait(lambda: second.ask("/v1/queues").is_success, "the standby to take over")
    cluster.wait(lambda: "late" in second.ask("/v1/workloads").text, "all that waits to be known")
    assert second.ask("/v1/gpus").json()["items"][0]["gpu_used_milli"] == 2000
    for name in ("early-0", "early-1"):
        cluster.delete(f"/api/v1/namespaces/default/pods/{name}", grace=0)
    assert set(cluster.wait_bound(late)) == set(late)
    cluster.wait(lambda: "cannot be used" not in ganglion("ps").err, "the command to meet it")


def test_what_a_standby_sees_pass_is_neither_kept_nor_counted_later(cluster: Cluster) -> None:
    leads = False
    (node,) = cluster.add_nodes(1, gpus=1)
    scheduler = Scheduler({"": cluster.endpoint}, "test", may=lambda: leads, load=load)
    scheduler.start()
    try:
        cluster.wait(scheduler.ready.is_set, "the standby to be warm")
        for name in ("a", "b", "c"):
            cluster.create(pod_manifest(name))
            cluster.bind(name, node)
            failed = {"phase": "Failed", "reason": "OutOfcpu"}
            cluster.patch(f"/api/v1/namespaces/default/pods/{name}/status", {"status": failed})
        (fresh,) = cluster.add_pods(1, prefix="fresh", gpus=1)
        cluster.wait(lambda: is_known(scheduler, fresh), "the standby to see what came after them")
        with scheduler.read() as controller:
            site = controller.scene.sites[""]
            assert (site.news, site.gone_pods, site.over) == ([], [], [])
        leads = True
        assert cluster.wait_bound([fresh]) == {fresh: node}, "refusals of long ago close no node"
    finally:
        scheduler.stop()


def is_known(scheduler: Scheduler, name: str) -> bool:
    """Whether a pod, and so all before it, was seen."""
    with scheduler.read() as controller:
        return any(each.metadata.name == name for each in controller.scene.sites[""].pods.values())
