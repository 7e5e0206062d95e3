"""What pods need beside the object that makes them: services, files, secrets."""

from ganglion.lifecycle.expand import gang_count
from ganglion.model.errors import FieldError
from ganglion.model.workload import Kind
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.submit.manifests import launcher, marks
from ganglion.worlds.kubernetes.submit.manifests.environment import MASTER_PORT, NODES, children
from ganglion.worlds.kubernetes.submit.manifests.pod import Making, Manifest
from ganglion.worlds.kubernetes.submit.manifests.shape import ManifestGang, domain_of

MOST_BYTES = 900_000
"""Most bytes of a config map; the API allows 1 MiB with everything around it."""


def companions(making: Making, gangs: tuple[ManifestGang, ...]) -> list[Manifest]:
    """Everything that a workload's pods need beside them.

    Raises:
        FieldError: the trials of a sweep fill more than one object may hold.
    """
    found = [_domain(making, gang) for gang in gangs if gang.domain]
    if making.workload.run.port:
        found = _with_front(making, gangs[0], found)
    files = _files(making, gangs)
    if files:
        found.append(_config(making, files))
    if making.secrets:
        found.append(_secret(making))
    return found


def _domain(making: Making, gang: ManifestGang) -> Manifest:
    """A headless service: every pod of the gang has a name in it, ready or not."""
    selector = {marks.WORKLOAD: making.workload.name, marks.GANG_INDEX: str(gang.crews[0].index)}
    ports = [{"name": "rendezvous", "port": MASTER_PORT}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": making.meta(gang.domain),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": selector,
            "ports": ports,
        },
    }


def _with_front(making: Making, first: ManifestGang, domains: list[Manifest]) -> list[Manifest]:
    """A service for clients; that of a workspace takes the place of its domain, or joins it."""
    front = _front(making, first)
    if making.workload.kind is Kind.WORKSPACE and first.pods > 1:
        domains[0]["spec"]["ports"] += front["spec"]["ports"]
        return domains
    name = front["metadata"]["name"]
    return [*(each for each in domains if each["metadata"]["name"] != name), front]


def _front(making: Making, first: ManifestGang) -> Manifest:
    """Where clients find a service: its ready replicas, of each the first pod."""
    selector = {marks.WORKLOAD: making.workload.name}
    if first.pods > 1:
        selector["apps.kubernetes.io/pod-index"] = "0"
        selector[names.POD_SET] = first.crews[0].pods.name
    port = making.workload.run.port
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": making.meta(domain_of(making.workload.name)),
        "spec": {
            "selector": selector,
            "ports": [{"name": "main", "port": port, "targetPort": port}],
        },
    }


def _files(making: Making, gangs: tuple[ManifestGang, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    if any(making.launched(crew) for gang in gangs for crew in gang.crews):
        found[launcher.LAUNCH] = launcher.SCRIPT
    for gang in gangs:
        if gang.pods > 1:
            index = gang.crews[0].index
            found[f"{launcher.HOSTFILE}-{index}"] = hostfile(gang)
            found[f"{NODES}-{index}"] = "\n".join(gang.hosts)
    if making.workload.kind is Kind.SWEEP and gangs[0].crews[0].alone:
        found |= {
            f"{launcher.TRIAL}{index}": launcher.trial(making.workload, index)
            for index in range(gang_count(making.workload))
        }
    return found


def hostfile(gang: ManifestGang) -> str:
    """An MPI hostfile: one line `address slots=n` per pod."""
    slots = (children(crew.pods) for crew in gang.crews for _ in range(crew.pods.count))
    lines = zip(gang.hosts, slots, strict=True)
    return "".join(f"{host} slots={count}\n" for host, count in lines)


def _config(making: Making, files: dict[str, str]) -> Manifest:
    size = sum(len(name) + len(text.encode()) for name, text in files.items())
    if size > MOST_BYTES:
        raise FieldError(
            f"its trials and pods take {size:,} bytes to describe; most are {MOST_BYTES:,}",
            key="params" if making.workload.params else "nodes",
            hint="submit it in parts",
        )
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": making.meta(making.workload.name),
        "data": files,
    }


def _secret(making: Making) -> Manifest:
    values = {name: making.workload.run.env[name] for name in sorted(making.secrets)}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": making.meta(making.workload.name),
        "type": "Opaque",
        "stringData": values,
    }
