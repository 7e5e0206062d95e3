"""Kubeconfigs, right and wrong: what is wrong is named by file, line and key."""

import ssl
from base64 import b64encode
from pathlib import Path

import pytest
import yaml

from ganglion.model.errors import EnvironmentFault, FieldError, FileError, InputError
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.connect import address_of
from ganglion.worlds.kubernetes.http.errors import ApiUnavailable
from ganglion.worlds.kubernetes.sign_in.config import in_cluster, load
from ganglion.worlds.kubernetes.sign_in.tls import context_of
from ganglion.worlds.kubernetes.types.meta import Anything
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.http.double import using

GOOD = """\
apiVersion: v1
kind: Config
current-context: lab
clusters:
- name: one
  cluster:
    server: https://127.0.0.1:6443/
    certificate-authority: certs/ca.crt
- name: two
  cluster:
    server: http://127.0.0.1:8001/k8s/clusters/c-1
users:
- name: ada
  user:
    token: secret-of-ada
- name: bob
  user:
    tokenFile: bob.token
contexts:
- name: lab
  context: {cluster: one, user: ada, namespace: physics}
- name: other
  context: {cluster: two, user: bob}
"""


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither this machine's kubeconfig nor its proxies."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def file(folder: Path, text: str, name: str = "config") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def wrong(folder: Path, text: str) -> FieldError:
    path = file(folder, text)
    with pytest.raises(FieldError) as caught:
        load(path)
    assert caught.value.file == str(path)
    return caught.value


def test_the_current_context_is_chosen_or_another_by_name(tmp_path: Path) -> None:
    path = file(tmp_path, GOOD)
    lab, other = load(path), load(path, "other")
    assert (lab.name, lab.url, lab.namespace) == ("lab", "https://127.0.0.1:6443", "physics")
    assert lab.person.token == "secret-of-ada"
    assert (other.name, other.namespace) == ("other", "default")


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    path = file(tmp_path, GOOD)
    assert load(path).server.certificate_auth == str(tmp_path / "certs" / "ca.crt")
    assert load(path, "other").person.token_file == str(tmp_path / "bob.token")


def test_secrets_are_not_printed(tmp_path: Path) -> None:
    assert "secret-of-ada" not in repr(load(file(tmp_path, GOOD)))


def test_of_several_files_the_first_that_says_something_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = {"users": [{"name": "ada", "user": {"token": "another"}}]}
    files = [file(tmp_path, yaml.safe_dump(first), "a"), file(tmp_path, GOOD, "b")]
    monkeypatch.setenv("KUBECONFIG", ":".join(map(str, [*files, tmp_path / "absent"])))
    assert (load().name, load().person.token) == ("lab", "another")


def test_the_home_directory_is_looked_into_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".kube").mkdir()
    file(tmp_path / ".kube", GOOD)
    assert load().name == "lab"
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    with pytest.raises(FileError, match=r"absent: No such file"):
        load()


def test_without_any_configuration_it_is_said_what_was_looked_for() -> None:
    with pytest.raises(EnvironmentFault, match=r"\$KUBECONFIG") as caught:
        load()
    assert "--kubeconfig" in caught.value.hint


def test_an_unknown_context_is_answered_with_those_there_are(tmp_path: Path) -> None:
    path = file(tmp_path, GOOD)
    with pytest.raises(InputError, match=f"{path}: there is no context 'lap'") as caught:
        load(path, "lap")
    assert "lab, other" in caught.value.hint
    with pytest.raises(InputError, match="no context is current"):
        load(file(tmp_path, GOOD.replace("current-context: lab\n", "")))


@pytest.mark.parametrize(
    ("old", "new", "key", "line"),
    [
        ("server: https://127.0.0.1:6443/", "server: [1]", "clusters[0].cluster.server", 7),
        ("token: secret-of-ada", "token: 12", "users[0].user.token", 15),
        ("- name: bob\n", "- nome: bob\n", "users[1]", 16),
        ("cluster: one", "cluster: three", "contexts.lab.cluster", 0),
        ("user: ada", "user: eve", "contexts.lab.user", 0),
    ],
)
def test_what_is_wrong_is_named_by_its_key(
    tmp_path: Path, old: str, new: str, key: str, line: int
) -> None:
    error = wrong(tmp_path, GOOD.replace(old, new, 1))
    assert (error.key, error.line) == (key, line)


def test_text_that_is_no_yaml_is_named_by_its_line(tmp_path: Path) -> None:
    assert wrong(tmp_path, "clusters: [\n").line > 0


def test_a_server_that_is_no_url_is_refused(tmp_path: Path) -> None:
    path = file(tmp_path, GOOD.replace("https://127.0.0.1:6443/", "cluster.example"))
    with pytest.raises(InputError, match=f"{path}: .*'lab' is no URL: 'cluster.example'"):
        load(path)


def test_a_path_before_the_api_is_kept(tmp_path: Path) -> None:
    address = address_of(load(file(tmp_path, GOOD), "other"))
    assert (address.host, address.port) == ("127.0.0.1", 8001)
    assert (address.authority, address.prefix) == ("127.0.0.1:8001", "/k8s/clusters/c-1")


def test_a_pod_uses_its_service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {"token": "t\n", "namespace": "ganglion\n", "ca.crt": ""}.items():
        file(tmp_path, text, name)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    found = in_cluster(tmp_path)
    assert (found.name, found.url) == ("in-cluster", "https://[fd00::1]:443")
    assert found.namespace == "ganglion"
    # The token is rotated: the file counts, not what is in it now.
    assert (found.person.token, found.person.token_file) == (None, str(tmp_path / "token"))


def test_a_pod_without_a_token_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    with pytest.raises(EnvironmentFault, match="no service account in") as caught:
        in_cluster(tmp_path)
    assert "automountServiceAccountToken" in caught.value.hint


def context(folder: Path, **user: str) -> ssl.SSLContext | None:
    document = yaml.safe_load(GOOD)
    document["users"][0]["user"] = user
    document["clusters"][0]["cluster"].pop("certificate-authority")
    return context_of(load(file(folder, yaml.safe_dump(document))))


def test_a_missing_certificate_is_named_by_file_and_key(tmp_path: Path) -> None:
    path = file(tmp_path, GOOD)
    with pytest.raises(FieldError, match=f"{path}:certificate-authority: .*ca.crt") as caught:
        context_of(load(path))
    assert caught.value.key == "certificate-authority"


@pytest.mark.parametrize(
    ("user", "key", "said"),
    [
        ({"client-certificate-data": "!", "client-key-data": "!"}, "client-certificate-data", "64"),
        ({"client-certificate": "c.pem"}, "client-key", "missing"),
        ({"client-key": "k.pem"}, "client-certificate", "missing"),
        ({"client-certificate": "c.pem", "client-key": "k.pem"}, "client-certificate", "No such"),
        (
            {
                each: b64encode(b"x").decode()
                for each in ("client-certificate-data", "client-key-data")
            },
            "client-certificate",
            "cannot be used",
        ),
    ],
)
def test_a_client_certificate_that_cannot_be_used_is_named_by_its_key(
    tmp_path: Path, user: dict[str, str], key: str, said: str
) -> None:
    with pytest.raises(FieldError, match=said) as caught:
        context(tmp_path, **user)
    assert (caught.value.key, caught.value.file) == (key, str(tmp_path / "config"))


def test_to_trust_nobody_and_somebody_is_a_contradiction(tmp_path: Path) -> None:
    text = GOOD.replace("certificate-authority: certs/ca.crt", "insecure-skip-tls-verify: true")
    insecure = context_of(load(file(tmp_path, text)))
    assert insecure is not None
    assert insecure.verify_mode is ssl.CERT_NONE
    both = text.replace("true", "true\n    certificate-authority: ca.crt")
    with pytest.raises(FieldError, match="contradicts certificate-authority"):
        context_of(load(file(tmp_path, both)))


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "nonsense"])
def test_a_proxy_that_is_not_spoken_is_refused(tmp_path: Path, proxy: str) -> None:
    text = GOOD.replace("certificate-authority: certs/ca.crt", f"proxy-url: {proxy}")
    with pytest.raises(FieldError) as caught:
        address_of(load(file(tmp_path, text)))
    assert caught.value.key == "cluster.proxy-url"


def test_the_environment_s_proxy_is_used_except_where_it_says_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = load(file(tmp_path, GOOD))
    there = load(file(tmp_path, GOOD.replace("127.0.0.1", "10.1.2.3")))
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    assert address_of(there).proxy == "http://proxy.example:3128"
    assert address_of(here).proxy == ""
    mapped = load(file(tmp_path, GOOD.replace("127.0.0.1", "[::ffff:127.0.0.1]")))
    assert address_of(mapped).proxy == ""
    monkeypatch.setenv("no_proxy", "10.1.2.3")
    assert address_of(there).proxy == ""


@pytest.mark.parametrize(("name", "right"), [("kubernetes", True), ("another.example", False)])
def test_the_name_in_the_certificate_may_be_another_than_the_address(
    cluster: Cluster, tmp_path: Path, name: str, right: bool
) -> None:
    document = yaml.safe_load(cluster.kubeconfig.read_text())
    document["clusters"][0]["cluster"]["tls-server-name"] = name

    async def task(api: Api) -> None:
        if right:
            assert (await api.list("/api/v1/namespaces", Anything)).items
        else:
            with pytest.raises(ApiUnavailable, match="certificate verify failed"):
                await api.list("/api/v1/namespaces", Anything)

    using(load(file(tmp_path, yaml.safe_dump(document))), task)


def test_certificates_may_be_in_the_file_itself(cluster: Cluster, tmp_path: Path) -> None:
    document = yaml.safe_load(cluster.kubeconfig.read_text())
    whole = document["clusters"][0]["cluster"]
    ca, key = (
        b64encode(each.read_bytes()).decode() for each in (cluster.plane.ca, cluster.plane.key)
    )
    whole.pop("certificate-authority", None)
    whole["certificate-authority-data"] = ca
    # The server asks for no client certificate here; that ours can be read is what matters.
    document["users"][0]["user"] |= {"client-certificate-data": ca, "client-key-data": key}

    async def task(api: Api) -> None:
        assert (await api.list("/api/v1/namespaces", Anything)).items

    using(load(file(tmp_path, yaml.safe_dump(document))), task)
