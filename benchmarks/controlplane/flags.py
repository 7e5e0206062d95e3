"""How each program of a control plane is started, and the files that it reads."""

from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from msgspec import Struct

from ganglion.seams.effects import SYSTEM
from ganglion.transport.tls.files import OWN
from ganglion.transport.tls.own_certificate import served

CERTIFICATE, KEY = "tls/cert.pem", "tls/key.pem"
"""Of the API server, in its folder."""
NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc")
"""Of the API server, besides its address."""
ACCOUNT_KEY = "accounts.key"
"""Signs the tokens of service accounts."""

ADMIN = "admin"
SCHEDULER = "system:kube-scheduler"
MANAGER = "system:kube-controller-manager"

# As itself every controller would be forbidden its work: the roles of the single controllers
# belong to service accounts that are not made here.
_KNOWN = {ADMIN: "system:masters", SCHEDULER: "", MANAGER: "system:masters"}

QUICK = ("--kube-api-qps=10000", "--kube-api-burst=10000")
"""No client-side limit on requests; the default is 50 a second for kube-scheduler."""


class Options(Struct, frozen=True):
    """How the API server differs from the default.

    Attributes:
        gates: feature gates, as `GangScheduling=true`.
        all_apis: serve alpha and beta groups too.
        disabled: admission plugins that are off. Without kube-controller-manager there are no
            service accounts for pods, and the taint that new nodes get stays.
    """

    gates: tuple[str, ...] = ()
    all_apis: bool = False
    disabled: tuple[str, ...] = ("ServiceAccount", "TaintNodesByCondition")


class Ports(Struct, frozen=True):
    """Ports on loopback."""

    etcd: int
    peer: int
    api: int

    @property
    def etcd_url(self) -> str:
        """Where the API server finds etcd."""
        return f"http://127.0.0.1:{self.etcd}"

    @property
    def api_url(self) -> str:
        """Where clients find the API server."""
        return f"https://127.0.0.1:{self.api}"


def etcd_flags(folder: Path, ports: Ports) -> list[str]:
    """Flags of one member that does not wait for the disk."""
    peer = f"http://127.0.0.1:{ports.peer}"
    flags = {
        "name": "default",
        "data-dir": folder / "etcd",
        "listen-client-urls": ports.etcd_url,
        "advertise-client-urls": ports.etcd_url,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
        "unsafe-no-fsync": "true",
        "quota-backend-bytes": 4 << 30,
        "max-request-bytes": 8 << 20,
        "max-txn-ops": 1024,
        "log-level": "warn",
    }
    return _written(flags)


def api_flags(folder: Path, ports: Ports, webhook: str, options: Options) -> list[str]:
    """Flags of the API server; writes the files it reads.

    Its certificate has a key on a curve: with an RSA key, as the API server makes it for itself,
    handshakes take a seventh of its CPU time.
    """
    served(OWN, folder, NAMES, SYSTEM)
    key = folder / ACCOUNT_KEY
    key.touch(mode=0o600)
    key.write_bytes(account_key())
    hook = write_yaml(folder / "identities.yaml", kubeconfig(webhook))
    flags: dict[str, Any] = {
        "etcd-servers": ports.etcd_url,
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        "secure-port": ports.api,
        "cert-dir": folder,
        "tls-cert-file": folder / CERTIFICATE,
        "tls-private-key-file": folder / KEY,
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": key,
        "service-account-signing-key-file": key,
        "service-cluster-ip-range": "10.0.0.0/16",
        "token-auth-file": _tokens(folder),
        "authentication-token-webhook-config-file": hook,
        "authentication-token-webhook-version": "v1",
        "authorization-mode": "RBAC",
        "endpoint-reconciler-type": "none",
        "disable-admission-plugins": ",".join(options.disabled),
        "max-requests-inflight": 4000,
        "max-mutating-requests-inflight": 2000,
    }
    if options.gates:
        flags["feature-gates"] = ",".join(options.gates)
    if options.all_apis:
        flags["runtime-config"] = "api/all=true"
    return _written(flags)


@cache
def account_key() -> bytes:
    """The key of service accounts, the same for all API servers of this process."""
    made = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def client_flags(config: Path) -> list[str]:
    """Flags of kube-scheduler and kube-controller-manager: alone, unlimited, no port."""
    flags = {"kubeconfig": config, "leader-elect": "false", "secure-port": 0}
    return [*_written(flags), *QUICK]


def static_token(user: str) -> str:
    """The token of the administrator or of a component, good from the first second."""
    return f"static-{user.replace(':', '-')}"


def kubeconfig(
    server: str, *, ca: Path | None = None, bearer: str = "", namespace: str = ""
) -> dict[str, Any]:
    """A kubeconfig with one context.

    Args:
        server: URL.
        ca: certificates to trust; their text goes in, so that the file stands alone.
        bearer: the token; empty for none.
        namespace: the context's own; empty for `default`.
    """
    cluster: dict[str, Any] = {"server": server}
    if ca:
        cluster["certificate-authority-data"] = b64encode(ca.read_bytes()).decode()
    context = {"cluster": "test", "user": "test"} | ({"namespace": namespace} if namespace else {})
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": {"token": bearer} if bearer else {}}],
        "contexts": [{"name": "test", "context": context}],
        "current-context": "test",
    }


def write_yaml(path: Path, content: Mapping[str, object]) -> Path:
    """Write a file that holds a secret, readable for its owner alone."""
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(dict(content)))
    return path


def _tokens(folder: Path) -> Path:
    path = folder / "tokens.csv"
    lines = [f'{static_token(user)},{user},{user},"{groups}"' for user, groups in _KNOWN.items()]
    path.write_text("\n".join(lines) + "\n")
    return path


def _written(flags: Mapping[str, object]) -> list[str]:
    return [f"--{name}={value}" for name, value in flags.items()]
