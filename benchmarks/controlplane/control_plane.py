"""A real Kubernetes control plane on this machine, without nodes: etcd and kube-apiserver.

It starts in a few seconds, keeps its data in memory where the machine has `/dev/shm`, and is
gone when stopped. kube-controller-manager and kube-scheduler are started where they are wanted.
"""

import os
import shutil
import socket
import ssl
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import httpx2
import psutil

from benchmarks.controlplane.etcd import Etcd
from benchmarks.controlplane.flags import (
    ADMIN,
    CERTIFICATE,
    KEY,
    MANAGER,
    SCHEDULER,
    Options,
    Ports,
    api_flags,
    client_flags,
    etcd_flags,
    kubeconfig,
    static_token,
    write_yaml,
)
from benchmarks.controlplane.identities import Identities, token
from benchmarks.controlplane.programs import Process, Programs
from ganglion.model.errors import EnvironmentFault

_PATIENCE_S = 120.0  # for a machine that builds something else at the same time
_TRIES = 3
_PREFIX = "ganglion-control-plane-"
_STANDARD = Options()

KEPT = (
    "/registry/apiregistration.k8s.io/",
    "/registry/flowschemas/",
    "/registry/leases/kube-system/apiserver-",
    "/registry/masterleases/",
    "/registry/peerserverleases/",
    "/registry/prioritylevelconfigurations/",
    "/registry/ranges/",
)
"""What the API server itself writes at any time: `wipe` leaves it."""


class ControlPlane:
    """One API server with its etcd.

    Args:
        programs: where the binaries are.
        options: how the API server is run.
    """

    def __init__(self, programs: Programs, options: Options = _STANDARD) -> None:
        self.programs = programs
        self._options = options
        self._parts: dict[str, Process] = {}
        self._configs = 0
        self._left = ExitStack()
        _sweep(_memory())
        name = f"{_PREFIX}{os.getpid()}-"
        self.folder = Path(tempfile.mkdtemp(prefix=name, dir=_memory()))
        self._left.callback(shutil.rmtree, self.folder, ignore_errors=True)

    def start(self) -> Self:
        """Start etcd and the API server, and wait until it is ready.

        Raises:
            EnvironmentFault: a program is missing or does not come up; has the end of its log.
        """
        self._identities = Identities().start()
        self._left.callback(self._identities.stop)
        self._left.callback(self._kill_all)
        try:
            self._start_core()
            self._baseline = frozenset(self._etcd.all_keys())
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End every part and remove the data."""
        self._left.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where clients find the API server."""
        return self._ports.api_url

    @property
    def ca(self) -> Path:
        """The serving certificate, for clients to trust."""
        return self.folder / CERTIFICATE

    @property
    def key(self) -> Path:
        """The key of the serving certificate, for a proxy that is to be trusted as well."""
        return self.folder / KEY

    def token(self, user: str = ADMIN, groups: Sequence[str] = ()) -> str:
        """The token of any user in any groups; the administrator may do everything."""
        return static_token(ADMIN) if user == ADMIN else token(user, groups)

    def kubeconfig(
        self,
        user: str = ADMIN,
        groups: Sequence[str] = (),
        *,
        namespace: str = "",
        server: str = "",
    ) -> Path:
        """Write a kubeconfig for a user.

        Args:
            user: any name.
            groups: groups the user is in.
            namespace: the one of the context; empty for `default`.
            server: URL of a proxy that shows the same certificate; empty for the API server.
        """
        return self._config(self.token(user, groups), namespace, server)

    def part(self, name: str) -> Process:
        """A running part: `etcd`, `kube-apiserver` or what `launch` started."""
        return self._parts[name]

    def launch(self, name: str, flags: Sequence[str] = ()) -> Process:
        """Start `kube-scheduler` or `kube-controller-manager`, with these flags as well."""
        user = {"kube-scheduler": SCHEDULER, "kube-controller-manager": MANAGER}[name]
        own = client_flags(self._config(static_token(user)))
        return self.run(name, [*self.programs.command(name), *own, *flags])

    def run(self, name: str, command: Sequence[str]) -> Process:
        """Start any program as a part, in place of one of its name; it ends with the others."""
        self.end(name)
        process = Process(name, command, self.folder)
        self._parts[name] = process.start()
        return process

    def end(self, name: str) -> None:
        """Kill a part; nothing happens when it does not run."""
        if process := self._parts.pop(name, None):
            process.kill()

    def restart(self, name: str) -> None:
        """Kill a part without warning and start it again; returns when all is ready."""
        process = self._parts[name]
        process.kill()
        process.start()
        process.wait_until(self._etcd.ready if name == "etcd" else self.ready, _PATIENCE_S)
        self.part("kube-apiserver").wait_until(self.ready, _PATIENCE_S)

    def ready(self) -> bool:
        """Whether the API server says that it is."""
        if not self.ca.exists():
            return False
        headers = {"Authorization": f"Bearer {self.token()}"}
        try:
            context = ssl.create_default_context(cafile=self.ca)
            answer = httpx2.get(
                f"{self.url}/readyz", headers=headers, verify=context, trust_env=False
            )
        except (httpx2.TransportError, ssl.SSLError):
            return False
        return answer.status_code == httpx2.codes.OK

    def compact(self) -> int:
        """Have etcd forget all revisions but the present one, whose number is returned."""
        return self._etcd.compact()

    def wipe(self, keep: Sequence[str] = ()) -> None:
        """Remove every object that was not there at the start, whatever its finalizers.

        Args:
            keep: what else is left: beginnings of etcd's keys, as `/registry/minions/` (nodes).
        """
        kept = (*KEPT, *keep)
        here = self._etcd.all_keys()
        made = [key for key in here if key not in self._baseline and not key.startswith(kept)]
        old = {_folder(key) for key in (*self._baseline, *kept)}
        whole = {_folder(key) for key in made} - old
        self._etcd.delete([key for key in made if _folder(key) not in whole], sorted(whole))

    def _start_core(self) -> None:
        for left in reversed(range(_TRIES)):
            self._ports = Ports(*_free_ports(3))
            try:
                self._start_on(self._ports)
            except EnvironmentFault as fault:
                self._kill_all()
                if "address already in use" not in fault.hint or not left:
                    raise
            else:
                return

    def _start_on(self, ports: Ports) -> None:
        self._etcd = Etcd(ports.etcd_url)
        self._left.callback(self._etcd.close)
        command = [*self.programs.command("etcd"), *etcd_flags(self.folder, ports)]
        self.run("etcd", command).wait_until(self._etcd.ready, _PATIENCE_S)
        flags = api_flags(self.folder, ports, self._identities.url, self._options)
        command = [*self.programs.command("kube-apiserver"), *flags]
        self.run("kube-apiserver", command).wait_until(self.ready, _PATIENCE_S)

    def _kill_all(self) -> None:
        for name in reversed(list(self._parts)):
            self.end(name)

    def _config(self, bearer: str, namespace: str = "", server: str = "") -> Path:
        content = kubeconfig(server or self.url, ca=self.ca, bearer=bearer, namespace=namespace)
        self._configs += 1
        return write_yaml(self.folder / f"kubeconfig-{self._configs}.yaml", content)


def _folder(key: str) -> str:
    """The part of a key that all objects of a kind share: `/registry/pods/`."""
    return "/".join(key.split("/", 3)[:3]) + "/"


def _memory() -> Path:
    """The folder that is in memory, or the usual place for what may be lost."""
    folder = Path("/dev/shm")
    return folder if os.access(folder, os.W_OK) else Path(tempfile.gettempdir())


def _sweep(where: Path) -> None:
    """Remove what processes left that were killed: it takes memory."""
    for folder in where.glob(f"{_PREFIX}*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if not psutil.pid_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        found = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]
