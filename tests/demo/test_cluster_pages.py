"""What the pages about Kubernetes show is what happens in a cluster, with a real API server.

kube-controller-manager and kube-scheduler are those of Kubernetes; the nodes are played. Pods of
the scheduler's own Deployment are played too, so a process with their account's rights decides.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.controlplane.cluster import Cluster
from tests.controlplane.fixtures import cluster, control_plane, control_plane_programs
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.manifests import Object, pod
from tests.demo.console import CLUSTER_PAGES, ROOT, Session, play
from tests.worlds.kubernetes.rbac import manifests

__all__ = ["cluster", "control_plane", "control_plane_programs"]

pytestmark = pytest.mark.xdist_group("pages of a cluster")

H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
DEPLOYS = "docs/install.md"
"""The page whose Deployments become pods."""
SCHEDULER = "ganglion scheduler --kubeconfig ~/ganglion.conf --namespace ganglion-system &"
MANIFESTS = "kubectl apply --server-side -f deploy/crds.yaml -f deploy/ganglion.yaml"


def create(*pods: Object) -> str:
    """A command that makes them."""
    body = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
    return f"kubectl create -f - <<'EOF'\n{body}\nEOF"


WAITS = create(pod("llama-0", gpus=16))
QUEUE = """apiVersion: ganglion.dev/v1alpha1
kind: Queue
metadata: {name: research}
spec: {quota: {H100: 32}}"""
RESEARCH = {"ganglion.dev/queue": "research"}
VISION = {"ganglion.dev/queue": "vision"}
LAB = """kubectl create namespace team-a; kubectl -n team-a apply -f - <<'EOF'
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: lab, labels: {ganglion.dev/kind: workspace}}
spec:
  serviceName: lab
  selector: {matchLabels: {app: lab}}
  template:
    metadata: {labels: {app: lab}}
    spec: {schedulerName: ganglion, containers: [{name: lab, image: lab}]}
  volumeClaimTemplates:
    - metadata: {name: home}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
EOF"""
BEFORE: dict[tuple[str, int], tuple[str, ...]] = {
    ("docs/install.md", 2): (SCHEDULER,),
    ("docs/install.md", 3): ("^C", "helm uninstall ganglion -n ganglion-system"),
    ("docs/install.md", 4): (SCHEDULER,),
    ("docs/install.md", 5): (
        create(
            pod("eval", gpus=4, labels=VISION),
            *(pod(f"train-{each}", gpus=8, labels=RESEARCH) for each in range(12)),
        ),
        "kubectl wait --for=jsonpath='{.status.pending}'=7 queue/research",
        "kubectl wait --for=jsonpath='{.status.used.H100}'=4 queue/vision",
    ),
    ("docs/install.md", 6): (
        "helm install ganglion charts/ganglion -n ganglion-system --take-ownership",
        "cp ~/.kube/config west.conf; cp ~/.kube/config east.conf",
    ),
    ("docs/install.md", 8): (
        "^C",
        "kubectl delete pods --all --force",
        WAITS,
        "kubectl create namespace team-a; kubectl -n team-a create job embed --image=img",
        "kubectl -n team-a annotate job embed ganglion.dev/suspended-for=llama-0",
    ),
    ("docs/kubernetes-workspaces.md", 0): (LAB,),
    ("docs/runbooks/kubernetes.md", 0): (
        MANIFESTS,
        WAITS,
        f"kubectl apply -f - <<'EOF'\n{QUEUE}\nEOF",
        f"{SCHEDULER[:-1]} --identity ganglion-5d4f &",
        "kubectl wait --for=condition=PodScheduled=false pod/llama-0",
        "kubectl wait --for=condition=Accepted queue/research",
        "kubectl wait --for=jsonpath='{.status.share}'=0% queue/research",
    ),
}
"""(page, number of a block) -> commands that lead to the state in which it begins."""


@pytest.fixture
def session(
    request: pytest.FixtureRequest, cluster: Cluster, kubectl: str, tmp_path: Path, page: str
) -> Iterator[Session]:
    """A shell of the cluster's administrator."""
    text = (ROOT / page).read_text("utf-8")
    helm = request.getfixturevalue("helm") if "$ helm " in text else ""
    made = Session(tmp_path, text, {"kubectl": kubectl} | ({"helm": helm} if helm else {}))
    (tmp_path / ".kube").mkdir()
    shutil.copy(cluster.kubeconfig, tmp_path / ".kube" / "config")
    account = cluster.account_kubeconfig("ganglion-system", "ganglion")
    shutil.copy(account, tmp_path / "ganglion.conf")
    assert made.run("kubectl config rename-context test prod")[0] == 0
    yield made
    made.close()


@pytest.fixture
def nodes(cluster: Cluster, page: str) -> Iterator[None]:
    """Eight nodes that run pods, and on the page that deploys what makes and places them."""
    more = ("kube-controller-manager", "kube-scheduler") if page == DEPLOYS else ()
    if not all(map(cluster.plane.programs.has, more)):
        pytest.skip(f"{cluster.plane.programs.path} has not {' and '.join(more)}")
    cluster.add_nodes(8, labels=H100)
    for each in more:
        cluster.plane.launch(each)
    running = Kubelets(cluster.plane, leases=bool(more)).start()
    yield
    running.stop()
    for each in more:
        cluster.plane.end(each)
    for shared in manifests("ganglion.yaml"):  # wiping a cluster leaves these
        if shared["apiVersion"].startswith("flowcontrol."):
            cluster.delete(cluster.path(shared))


@pytest.mark.parametrize("page", CLUSTER_PAGES)
@pytest.mark.usefixtures("nodes")
def test_every_console_block_does_what_its_page_shows(session: Session, page: str) -> None:
    play(session, page, BEFORE)
