"""Tokens that are fixed, rotated in a file, or printed by a program."""

import asyncio
import errno
import json
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from ganglion.model.errors import EnvironmentFault, FieldError
from ganglion.seams.effects import SYSTEM
from ganglion.seams.processes import Finished
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import ApiUnavailable, ForbiddenRequest
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.sign_in.credentials import REREAD_S, CredentialProgram, TokenFile
from ganglion.worlds.kubernetes.sign_in.kubeconfig import Person, Plugin, Server, Variable
from ganglion.worlds.kubernetes.types.meta import Anything
from tests.controlplane.cluster import Cluster
from tests.faults.clock import HandClock
from tests.faults.files import FaultyFiles
from tests.faults.plan import FaultPlan
from tests.faults.processes import ScriptedProcesses
from tests.worlds.kubernetes.http.double import Asked, Double, Script, status_of, using, whole

VERSION = "client.authentication.k8s.io/v1"
ANOTHER_AUTHORITY = """\
-----BEGIN CERTIFICATE-----
MIIBkDCCATWgAwIBAgIUJtyP9TESEhZJjav2q6whWPZLAL4wCgYIKoZIzj0EAwIw
HDEaMBgGA1UEAwwRYW5vdGhlciBhdXRob3JpdHkwIBcNMjYxMTIyMDA1MzQzWhgP
MjEyNjEwMjkwMDUzNDNaMBwxGjAYBgNVBAMMEWFub3RoZXIgYXV0aG9yaXR5MFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEJArtIICg1azwlgK63rYp+ErEFqNhEn9l
JE5G4PfmoShmsjIimVNXzsloJevw8ldDvSO+OlJApFhxYXn0kiOPtqNTMFEwHQYD
VR0OBBYEFFaxB11qmi1dl8exCqryHBnQARU5MB8GA1UdIwQYMBaAFFaxB11qmi1d
l8exCqryHBnQARU5MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIh
AIWEnA3PyqgecvDAF6KC1xwifXF/hh5tqHnz3zS0giZuAiEAxupxGR+nxZMUctJO
hPLe5xFfKxucSGm9nzIh+jKi28g=
-----END CERTIFICATE-----
"""
"""Good for a hundred years; its key is lost."""

NONE = ApiEndpoint(name="none", url="https://none")
MAPS = "/api/v1/namespaces/default/configmaps"


def program(folder: Path, *lines: str) -> Plugin:
    """A script that counts its runs in the file `runs`."""
    path = folder / "plugin"
    path.write_text("\n".join(["#!/bin/sh", f"echo run >> {folder}/runs", *lines, ""]))
    path.chmod(0o755)
    return Plugin(api_version=VERSION, command=str(path))


def printing(folder: Path, token: str, **more: str) -> Plugin:
    status = {"token": token, **more}
    printed = {"apiVersion": VERSION, "kind": "ExecCredential", "status": status}
    return program(folder, f"echo '{json.dumps(printed)}'")


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text().splitlines())


def accepting(*tokens: str) -> Script:
    """A server that knows these tokens only; it lets the first few requests tell which."""

    async def script(asked: Asked, out: asyncio.StreamWriter) -> None:
        known = asked.headers.get("authorization", "").removeprefix("Bearer ") in tokens
        out.write(whole(200, {}) if known else whole(401, status_of(401, "Unauthorized")))

    return script


def asking(script: Script, person: Person, times: int = 1) -> list[str]:
    """Send requests as a person; the `Authorization` headers that arrived."""

    async def task() -> list[str]:
        async with Double(script) as double:
            api = Api(replace(double.endpoint(), person=person))
            try:
                for _ in range(times):
                    await api.get("/x", dict)
            finally:
                await api.close()
            return [each.headers.get("authorization", "") for each in double.asked]

    return asyncio.run(asyncio.wait_for(task(), 30))


def test_the_api_server_takes_what_a_program_prints(cluster: Cluster, tmp_path: Path) -> None:
    token = cluster.endpoint.person.token
    assert token
    person = Person(exec=printing(tmp_path, token))

    async def task(api: Api) -> None:
        for _ in range(3):
            assert (await api.list(MAPS, Anything)).version

    using(replace(cluster.endpoint, person=person), task)
    assert runs(tmp_path) == 1


def test_a_program_is_run_again_when_its_token_is_refused(tmp_path: Path) -> None:
    plugin = program(
        tmp_path,
        f"n=$(wc -l < {tmp_path}/runs)",
        'echo "{\\"status\\":{\\"token\\":\\"t$n\\"}}"',
    )
    sent = asking(accepting("t2"), Person(exec=plugin), times=2)
    assert sent == ["Bearer t1", "Bearer t2", "Bearer t2"]
    assert runs(tmp_path) == 2


def test_a_program_is_run_again_when_its_token_ends(tmp_path: Path) -> None:
    ends = (datetime.now(UTC) + timedelta(seconds=5)).isoformat()
    plugin = printing(tmp_path, "t", expirationTimestamp=ends)
    asking(accepting("t"), Person(exec=plugin), times=3)
    assert runs(tmp_path) == 3  # it ends too soon to be used again


def test_a_printed_token_ends_by_the_wall_clock_whichever_way_that_is_set(tmp_path: Path) -> None:
    clock = HandClock(wall_ms=1_900_000_000_000)
    ends = datetime.fromtimestamp(clock.wall_ms / 1_000 + 3_600, UTC).isoformat()
    plugin = printing(tmp_path, "t", expirationTimestamp=ends)
    program = CredentialProgram(plugin, NONE, SYSTEM._replace(clock=clock))
    for ahead_s, ran in ((0, 1), (-7_200, 1), (3_500, 1), (3_580, 2)):
        clock.wall_ms = 1_900_000_000_000 + ahead_s * 1_000
        assert asyncio.run(program.proof()).header == "Bearer t"
        assert runs(tmp_path) == ran


def test_a_program_is_told_what_it_asks_for(tmp_path: Path) -> None:
    plugin = replace(
        program(
            tmp_path,
            f'echo "$KUBERNETES_EXEC_INFO" > {tmp_path}/info',
            f'echo "$1 $MORE" > {tmp_path}/given',
            'echo \'{"status":{"token":"t"}}\'',
        ),
        args=["--for=ada"],
        env=[Variable(name="MORE", value="yes")],
        wants_cluster=True,
    )
    asking(accepting("t"), Person(exec=plugin))
    info = json.loads((tmp_path / "info").read_text())
    assert (info["apiVersion"], info["kind"]) == (VERSION, "ExecCredential")
    assert info["spec"]["interactive"] is False
    assert "cluster" in info["spec"]
    assert (tmp_path / "given").read_text() == "--for=ada yes\n"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["echo 'please log in' >&2", "exit 3"], "ended with 3: please log in"),
        (["echo hello"], "printed no ExecCredential"),
    ],
)
def test_a_program_that_fails_is_named_with_its_words(
    tmp_path: Path, lines: list[str], said: str
) -> None:
    plugin = program(tmp_path, *lines)
    with pytest.raises(EnvironmentFault, match=said) as caught:
        asking(accepting(), Person(exec=plugin))
    assert plugin.command in caught.value.message


def test_a_program_that_hangs_is_named_and_run_again_for_the_next_request(tmp_path: Path) -> None:
    said = {"token": "t"}
    answers = (TimeoutError(), Finished(0, json.dumps({"status": said}).encode(), b"a warning"))
    processes = ScriptedProcesses(*answers)
    plugin = Plugin(api_version=VERSION, command="/opt/login", args=["--for=ada"])
    source = CredentialProgram(plugin, NONE, SYSTEM._replace(processes=processes))
    with pytest.raises(EnvironmentFault) as caught:
        asyncio.run(source.proof())
    assert caught.value.message == "/opt/login printed no credentials within 60 s"
    assert asyncio.run(source.proof()).header == "Bearer t"
    assert [each.argv for each in processes.ran] == [("/opt/login", "--for=ada")] * 2


@pytest.mark.parametrize("cut", [0, 1, 20])
def test_a_program_whose_output_is_cut_off_is_named_and_its_last_proof_is_not_kept(
    cut: int,
) -> None:
    whole = json.dumps({"status": {"token": "t"}}).encode()
    processes = ScriptedProcesses(Finished(0, whole[:cut]), Finished(0, whole))
    plugin = Plugin(api_version=VERSION, command="/opt/login")
    source = CredentialProgram(plugin, NONE, SYSTEM._replace(processes=processes))
    with pytest.raises(EnvironmentFault, match=r"^/opt/login printed no ExecCredential"):
        asyncio.run(source.proof())
    assert asyncio.run(source.proof()).header == "Bearer t"


def test_a_program_that_is_not_there_is_named_with_how_to_get_it(tmp_path: Path) -> None:
    plugin = Plugin(
        api_version=VERSION, command=str(tmp_path / "gone"), install_hint="get it from IT"
    )
    with pytest.raises(EnvironmentFault, match="gone: No such file") as caught:
        asking(accepting(), Person(exec=plugin))
    assert caught.value.hint == "get it from IT"


@pytest.mark.parametrize(
    ("plugin", "key"),
    [
        (Plugin(api_version="client.authentication.k8s.io/v2", command="x"), "exec.apiVersion"),
        (Plugin(api_version=VERSION, command="x", interactive="Always"), "exec.interactiveMode"),
    ],
)
def test_a_program_that_cannot_be_used_is_refused_by_its_key(plugin: Plugin, key: str) -> None:
    with pytest.raises(FieldError) as caught:
        asking(accepting(), Person(exec=plugin))
    assert caught.value.key == key


def test_a_token_in_a_file_is_read_again_when_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("old\n")

    async def script(asked: Asked, out: asyncio.StreamWriter) -> None:
        if asked.headers["authorization"] == "Bearer old":
            path.write_text("new\n")
            out.write(whole(401, status_of(401, "Unauthorized")))
        else:
            out.write(whole(200, {}))

    assert asking(script, Person(token_file=str(path))) == ["Bearer old", "Bearer new"]


def test_a_refusal_that_no_newer_token_cures_is_told(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("old")
    with pytest.raises(ForbiddenRequest, match="GET /x"):
        asking(accepting("another"), Person(token_file=str(path)))


def test_a_token_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match=f"{tmp_path}/token: No such file"):
        asking(accepting(), Person(token_file=str(tmp_path / "token")))


def test_a_name_with_a_password_is_sent_as_such() -> None:
    async def script(asked: Asked, out: asyncio.StreamWriter) -> None:
        out.write(whole(200, {}))

    assert asking(script, Person(username="ada", password="x")) == ["Basic YWRhOng="]
    assert asking(script, Person()) == [""]


def test_a_way_to_sign_in_that_has_left_kubernetes_is_refused() -> None:
    with pytest.raises(FieldError, match="auth-provider"):
        asking(accepting(), Person(auth_provider={"name": "gcp"}))


def test_a_client_certificate_is_read_again_when_it_is_refused(
    cluster: Cluster, tmp_path: Path
) -> None:
    cert, key = tmp_path / "cert", tmp_path / "key"
    cert.write_bytes(cluster.plane.ca.read_bytes())
    key.write_bytes(cluster.plane.key.read_bytes())
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    contents = [cert.read_bytes(), cert.read_bytes(), b"broken"]

    async def script(asked: Asked, out: asyncio.StreamWriter) -> None:
        cert.write_bytes(contents.pop(0))
        out.write(whole(401, status_of(401, "Unauthorized")))

    async def task() -> None:
        async with Double(script, tls) as double:
            server = Server(certificate_auth=str(cluster.plane.ca))
            person = Person(client_cert=str(cert), client_key=str(key))
            api = Api(replace(double.endpoint(), server=server, person=person))
            with pytest.raises(ForbiddenRequest):
                await api.get("/x", dict)
            assert (len(double.asked), double.connections) == (2, 2)
            with pytest.raises(FieldError) as caught:  # the third answer broke it
                await api.get("/x", dict)
            assert caught.value.key == "client-certificate"
            await api.close()

    asyncio.run(asyncio.wait_for(task(), 30))


def test_authorities_are_read_again_when_the_server_has_another(
    cluster: Cluster, tmp_path: Path
) -> None:
    authorities = tmp_path / "ca.crt"
    authorities.write_text(ANOTHER_AUTHORITY)
    server = Server(certificate_auth=str(authorities))

    async def task(api: Api) -> None:
        with pytest.raises(ApiUnavailable, match="certificate verify failed"):
            await api.get("/version", dict, tries=1)
        authorities.write_bytes(cluster.plane.ca.read_bytes())
        with pytest.raises(ApiUnavailable):  # the new ones count from the next connection on
            await api.get("/version", dict, tries=1)
        assert await api.get("/version", dict, tries=1)

    using(replace(cluster.endpoint, server=server), task)


@pytest.mark.parametrize("seed", range(5))
def test_a_token_file_that_cannot_be_read_is_named_and_read_again(
    tmp_path: Path, seed: int
) -> None:
    path, plan, clock = tmp_path / "token", FaultPlan(seed, 0.5), HandClock()
    effects = SYSTEM._replace(files=FaultyFiles(plan, errno.EIO), clock=clock)
    token, failed = TokenFile(path, effects), 0
    for number in range(20):
        path.write_text(f"token-{number}\n")
        clock.sleep(REREAD_S)
        try:
            found = asyncio.run(token.proof())
        except EnvironmentFault as error:
            assert error.message == f"{path}: Input/output error"
            failed += 1
        else:
            assert found.header == f"Bearer token-{number}"
    assert failed == plan.struck["read"] > 0
