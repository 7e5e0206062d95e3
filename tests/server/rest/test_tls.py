"""Callers over TCP speak TLS; those of the Unix socket do not."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from ganglion.client import Client
from ganglion.client.home import Unreachable
from ganglion.model.errors import FileError, GanglionError, RateLimited
from ganglion.seams.effects import SYSTEM
from ganglion.server.access.tries.token_limit import WRONG_TOKENS
from ganglion.server.app import guarded, make_app
from ganglion.server.requests.context import ServerContext
from ganglion.server.rest.listening.address import bind
from ganglion.server.rest.listening.connections import CallerServer
from ganglion.server.rest.listening.listen import HttpListener
from ganglion.transport import unix
from ganglion.transport.http import Unproven, unix_transport
from ganglion.transport.tls.certificate import LOOK_S, ServedCertificate
from ganglion.transport.tls.files import TlsFiles
from tests.faults.clock import HandClock
from tests.server.process import until
from tests.transport.tls.certificates import der, trusting, write_pair

ADDRESS, CAP = "127.0.0.1", 16
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


class SafePlace:
    """A server that listens with TLS.

    Args:
        port: where it does.
        path: of its Unix socket.
        pair: its certificate.
        clock: of its looks at the files.
        stack: closes connections.
    """

    def __init__(
        self, port: int, path: Path, pair: TlsFiles, clock: HandClock, stack: ExitStack
    ) -> None:
        self.port, self.path, self.pair, self.clock = port, path, pair, clock
        self._stack = stack
        self.url = f"https://localhost:{port}"

    def bare(self) -> socket.socket:
        """A connection without a handshake."""
        return self._stack.enter_context(socket.create_connection((ADDRESS, self.port), 10))

    def dial(self) -> ssl.SSLSocket:
        """A connection that trusts the certificate as it is in the file."""
        made = trusting(self.pair).wrap_socket(self.bare(), server_hostname="localhost")
        return self._stack.enter_context(made)


@pytest.fixture
def place(context: ServerContext, tmp_path: Path) -> Iterator[SafePlace]:
    up, path = threading.Event(), tmp_path / "s"
    clock = HandClock(round(datetime.now(UTC).timestamp() * 1000))
    pair = write_pair(tmp_path)
    with ExitStack() as stack:
        taken = [stack.enter_context(bind(ADDRESS, 0)), stack.enter_context(unix.bind(path))]
        app = guarded(make_app(context), "secret", loopback=True)
        context.certificate = ServedCertificate(pair, SYSTEM._replace(clock=clock))
        listener = HttpListener(app, up.set, context.feed.close, CAP, context.certificate)
        thread = threading.Thread(target=listener.run, kwargs={"sockets": taken})
        thread.start()
        assert up.wait(10)
        with ExitStack() as dialled:
            yield SafePlace(taken[0].getsockname()[1], path, pair, clock, dialled)
        listener.halt()
        thread.join()


@pytest.fixture
def trusted(place: SafePlace, monkeypatch: pytest.MonkeyPatch) -> SafePlace:
    """The server, to clients that know its certificate."""
    monkeypatch.setenv("GANGLION_CA_FILE", place.pair.cert)
    return place


def ask(connected: socket.socket, data: bytes = HEALTH) -> bytes:
    connected.sendall(data)
    return connected.recv(65_536)


def test_tcp_is_encrypted_and_the_unix_socket_is_plain(place: SafePlace) -> None:
    made = place.dial()
    assert made.version() in ("TLSv1.2", "TLSv1.3")
    assert ask(made).startswith(b"HTTP/1.1 200")
    assert ask(made).startswith(b"HTTP/1.1 200"), "the connection is kept"
    with httpx2.Client(transport=unix_transport(place.path)) as client:
        assert client.get("http://localhost/api/v1/nodes").is_success


def test_what_is_not_tls_or_an_old_one_is_not_answered(place: SafePlace) -> None:
    old = trusting(place.pair)
    with pytest.warns(DeprecationWarning):
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises(OSError):
        old.wrap_socket(place.bare(), server_hostname="localhost")
    said = b""
    with closing(place.bare()) as plain:
        plain.sendall(HEALTH)
        with suppress(ConnectionError):
            said = plain.recv(100)
    assert b"HTTP" not in said
    assert ask(place.dial()).startswith(b"HTTP/1.1 200")


def test_a_request_in_progress_goes_on_while_the_certificate_changes(
    place: SafePlace, tmp_path: Path
) -> None:
    before, first = place.dial(), der(place.pair)
    before.sendall(HEALTH[:-2])
    write_pair(tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        place.dial()  # it trusts the new one, which is not served yet
    place.clock.sleep(LOOK_S)
    after = place.dial()
    assert after.getpeercert(binary_form=True) == der(place.pair) != first
    assert ask(after).startswith(b"HTTP/1.1 200")
    assert ask(before, b"\r\n").startswith(b"HTTP/1.1 200")
    assert before.getpeercert(binary_form=True) == first


def test_a_broken_pair_leaves_the_old_one_and_is_a_check_of_readiness(
    trusted: SafePlace, tmp_path: Path
) -> None:
    with Client(trusted.url, "secret") as client:
        Path(trusted.pair.key).write_text("nothing")
        trusted.clock.sleep(LOOK_S)
        assert ask(trusted.dial()).startswith(b"HTTP/1.1 200")
        health = client.readiness()
        [found] = [each for each in health.checks if each.name == "tls"]
        assert (health.status, found.status) == ("ok", "warn")
        assert found.message.startswith("the certificate before is still used: ")
        assert "is no private key" in found.message
        write_pair(tmp_path)
        trusted.clock.sleep(LOOK_S)
        [found] = [each for each in client.readiness().checks if each.name == "tls"]
        assert (found.status, found.message) == ("ok", "")


def test_a_client_sends_its_token_to_a_certificate_that_it_knows_and_asks_for_no_proof(
    trusted: SafePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ganglion.transport.http._challenge", refuse)
    with Client(trusted.url, "secret") as client:
        assert len(client.nodes()) == 2
        big = client.submit({"name": "a", "run": "true", "env": {"TEXT": "x" * 200_000}})
        assert client.workload(big.id).name == "a"
    with Client(trusted.url.replace("localhost", ADDRESS), "secret") as client:
        assert len(client.nodes()) == 2


def test_a_client_reads_a_new_token_although_wrong_ones_came_from_its_address(
    trusted: SafePlace,
) -> None:
    """The server was started anew, and another caller at its address tries tokens."""
    known = ["former"]
    with Client(trusted.url, lambda: known[-1]) as client:
        with Client(trusted.url, "wrong") as other:
            for _ in range(WRONG_TOKENS.tries):
                with pytest.raises(GanglionError, match="missing or wrong"):
                    other.nodes()
            with pytest.raises(RateLimited):
                other.nodes()
        known.append("secret")
        assert len(client.nodes()) == 2


def test_a_server_of_this_machine_is_reached_past_proxies(
    trusted: SafePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with Client(trusted.url, "secret") as client:
        assert len(client.nodes()) == 2


def test_events_are_followed_behind_tls(trusted: SafePlace) -> None:
    with (
        Client(trusted.url, "secret") as client,
        client._http.stream("/events", {"now": True}) as stream,
    ):
        lines = stream.iter_lines()
        assert next(lines) == ": events"
        client.submit({"name": "a", "run": "true"})
        assert any("submitted" in line for line in lines)


def test_a_client_sends_nothing_to_a_certificate_that_it_does_not_know(
    place: SafePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(place.url, "secret") as client:
        with pytest.raises(Unproven, match=r"is not trusted: self.signed certificate") as found:
            client.nodes()
        assert "GANGLION_CA_FILE" in found.value.hint
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("GANGLION_CA_FILE", write_pair(other).cert)
    with Client(place.url, "secret") as client, pytest.raises(Unproven, match="is not trusted"):
        client.nodes()
    named = write_pair(tmp_path, name="gpu-box")
    place.clock.sleep(LOOK_S)
    monkeypatch.setenv("GANGLION_CA_FILE", named.cert)
    with Client(place.url, "secret") as client, pytest.raises(Unproven, match="'localhost'"):
        client.nodes()


def test_a_file_of_authorities_that_is_none_is_named(
    place: SafePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (tmp_path / "none.pem", Path(place.pair.key)):
        monkeypatch.setenv("GANGLION_CA_FILE", str(path))
        with pytest.raises(FileError, match=path.name) as found:
            Client(place.url, "secret")
        assert "GANGLION_CA_FILE" in found.value.hint


def test_the_wrong_scheme_is_said(trusted: SafePlace) -> None:
    plain = f"http://localhost:{trusted.port}"
    with (
        Client(plain, "secret") as client,
        pytest.raises(Unreachable, match="ends the conn") as found,
    ):
        client.nodes()
    assert f"https://localhost:{trusted.port}" in found.value.hint
    with socket.create_server((ADDRESS, 0)) as other:
        port = other.getsockname()[1]

        def answer() -> None:
            connected, _ = other.accept()
            with connected:
                connected.recv(100)
                connected.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with Client(f"https://{ADDRESS}:{port}") as client:
            with pytest.raises(Unproven, match="no TLS with ") as unproven:
                client.nodes()
            assert "http://" in unproven.value.hint
        thread.join()
    with Client(f"https://{ADDRESS}:{port}") as client, pytest.raises(Unreachable):
        client.nodes()


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CallerServer, "headers_s", 0.3)


def test_handshakes_that_do_not_end_count_and_are_cut_off(hurried: None, place: SafePlace) -> None:
    silent = [place.bare() for _ in range(CAP // 2)]
    for each in silent:
        each.sendall(b"\x16\x03\x01")
    refused = place.bare()
    assert gone(refused), "one address may have half of the places"
    for each in silent:
        assert gone(each)
    until(lambda: serves(place))


def test_a_caller_that_leaves_in_or_after_its_handshake_frees_its_place(place: SafePlace) -> None:
    for _ in range(3 * CAP):
        with closing(place.bare()) as made:
            made.sendall(b"\x16\x03\x01")
    for _ in range(3 * CAP):
        until(lambda: serves(place))


def refuse(*_: object) -> None:
    raise AssertionError("a proof was asked for")


def serves(place: SafePlace) -> bool:
    try:
        with closing(place.dial()) as made:
            return ask(made).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def gone(connected: socket.socket) -> bool:
    try:
        return connected.recv(1_000)[:5] != b"HTTP/" and not connected.recv(1_000)
    except ConnectionError:
        return True


def test_headers_have_their_time_behind_tls_too(hurried: None, place: SafePlace) -> None:
    made = place.dial()
    assert ask(made, HEALTH[:20]).startswith(b"HTTP/1.1 408")
