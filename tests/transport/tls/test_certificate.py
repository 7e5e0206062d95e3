"""Certificates that a server refuses, takes anew, warns of, and makes."""

import os
import shutil
import ssl
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from ganglion.model.errors import FieldError, InputError
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.transport.tls.certificate import LOOK_S, ServedCertificate, checked
from ganglion.transport.tls.files import OWN, TlsFiles, tls_files
from ganglion.transport.tls.own_certificate import served
from tests.faults.clock import HandClock
from tests.transport.tls.certificates import write_key, write_pair

START = datetime(2026, 11, 27, tzinfo=UTC)
DAY_S = 86_400.0


@pytest.fixture
def clock() -> HandClock:
    return HandClock(round(START.timestamp() * 1000))


@pytest.fixture
def effects(clock: HandClock) -> Effects:
    return SYSTEM._replace(clock=clock)


def refusal(pair: TlsFiles) -> list[tuple[str, str, str]]:
    """File, what is wrong and what helps, for all that is wrong with a pair."""
    with pytest.raises(FieldError) as found:
        checked(pair, SYSTEM.files, round(START.timestamp() * 1000))
    assert found.value.code == "input.field"
    return [(Path(each.file).name, each.problem, each.hint) for each in found.value.errors]


def opened(pair: TlsFiles) -> None:
    Path(pair.key).chmod(0o644)


def foreign(pair: TlsFiles) -> None:
    write_key(Path(pair.key), ec.generate_private_key(ec.SECP256R1()))


def encrypted(pair: TlsFiles) -> None:
    write_key(Path(pair.key), ec.generate_private_key(ec.SECP256R1()), b"secret")


def late(pair: TlsFiles) -> None:
    write_pair(Path(pair.cert).parent, now=START, days=-1)


def early(pair: TlsFiles) -> None:
    write_pair(Path(pair.cert).parent, now=START + timedelta(days=40))


def swapped(pair: TlsFiles) -> None:
    shutil.copy(pair.key, pair.cert)


def cut(pair: TlsFiles) -> None:
    Path(pair.key).write_text("-----BEGIN PRIVATE KEY-----\nMIG\n-----END PRIVATE KEY-----\n")


def gone(pair: TlsFiles) -> None:
    Path(pair.key).unlink()


@pytest.mark.parametrize(
    ("spoil", "file", "says", "helps"),
    [
        (opened, "key.pem", "other users may use the key: mode 0644", "chmod 600 "),
        (foreign, "key.pem", "does not belong to ", "the key that it was made with"),
        (encrypted, "key.pem", "is encrypted", "openssl pkey -in "),
        (late, "cert.pem", "has expired on 2026-11-26", "renew it"),
        (early, "cert.pem", "counts from 2026-12-07 00:00 UTC on only", "date -u"),
        (swapped, "cert.pem", "is no certificate: ", "BEGIN CERTIFICATE"),
        (cut, "key.pem", "is no private key: ", "BEGIN PRIVATE KEY"),
        (gone, "key.pem", "cannot be read: No such file or directory", ""),
    ],
)
def test_a_pair_that_cannot_serve_is_refused_with_what_helps(
    tmp_path: Path, spoil: Callable[[TlsFiles], None], file: str, says: str, helps: str
) -> None:
    pair = write_pair(tmp_path, now=START)
    spoil(pair)
    [(where, problem, hint)] = refusal(pair)
    assert (where, problem.startswith(says)) == (file, True), problem
    assert helps in hint
    if spoil is encrypted:
        assert "secret" not in problem + hint


def test_all_that_is_wrong_with_a_pair_is_found_at_once(tmp_path: Path) -> None:
    pair = write_pair(tmp_path, now=START, days=-1)
    foreign(pair)
    opened(pair)
    assert [(file, problem[:16]) for file, problem, _ in refusal(pair)] == [
        ("cert.pem", "has expired on 2"),
        ("key.pem", "other users may "),
        ("key.pem", "does not belong "),
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away")
def test_a_group_may_read_a_key_that_root_owns_and_no_other(tmp_path: Path) -> None:
    """Packages that renew certificates share them with a group of servers so."""
    pair = write_pair(tmp_path, now=START)
    now_ms = round(START.timestamp() * 1000)
    Path(pair.key).chmod(0o640)
    checked(pair, SYSTEM.files, now_ms)
    os.chown(pair.key, 1234, 0)
    assert refusal(pair)[0][1] == "other users may use the key: mode 0640"
    os.chown(pair.key, 0, 0)
    Path(pair.key).chmod(0o660)
    assert refusal(pair)[0][1] == "other users may use the key: mode 0660"


def test_a_key_that_openssl_finds_too_short_is_refused(tmp_path: Path, effects: Effects) -> None:
    short = rsa.generate_private_key(65537, 1024)
    pair = write_pair(tmp_path, now=START, key=short)
    with pytest.raises(FieldError, match=r"OpenSSL refuses it: .*too small"):
        ServedCertificate(pair, effects)


def test_a_chain_and_its_key_are_taken(tmp_path: Path, effects: Effects) -> None:
    (tmp_path / "ca").mkdir()
    pair, above = write_pair(tmp_path, now=START), write_pair(tmp_path / "ca", now=START)
    with Path(pair.cert).open("ab") as file:
        file.write(Path(above.cert).read_bytes())
    assert ServedCertificate(pair, effects).trouble() == ""


def test_new_files_are_taken_within_a_minute_and_broken_ones_leave_the_old(
    tmp_path: Path, clock: HandClock, effects: Effects
) -> None:
    pair = write_pair(tmp_path, now=START)
    shown = ServedCertificate(pair, effects)
    first = shown.context()
    clock.sleep(LOOK_S)
    assert shown.context() is first, "the files are as they were"
    write_pair(tmp_path, now=START)
    clock.sleep(LOOK_S - 1)
    assert shown.context() is first
    clock.sleep(1)
    second = shown.context()
    assert second is not first
    foreign(pair)
    clock.sleep(LOOK_S)
    assert shown.context() is second
    assert shown.trouble().startswith("the certificate before is still used: ")
    assert "does not belong to" in shown.trouble()
    gone(pair)
    clock.sleep(LOOK_S)
    assert (shown.context() is second, "No such file" in shown.trouble()) == (True, True)
    write_pair(tmp_path, now=START)
    clock.sleep(LOOK_S)
    assert shown.trouble() == ""
    assert shown.context() is not second


def test_a_key_that_was_closed_to_others_is_taken_although_its_content_is_the_same(
    tmp_path: Path, clock: HandClock, effects: Effects
) -> None:
    pair = write_pair(tmp_path, now=START)
    shown = ServedCertificate(pair, effects)
    write_pair(tmp_path, now=START)
    opened(pair)
    clock.sleep(LOOK_S)
    assert "mode 0644" in shown.trouble()
    Path(pair.key).chmod(0o600)
    clock.sleep(LOOK_S)
    assert shown.trouble() == ""


def test_an_end_within_14_days_is_a_trouble(
    tmp_path: Path, clock: HandClock, effects: Effects
) -> None:
    shown = ServedCertificate(write_pair(tmp_path, now=START, days=20), effects)
    clock.sleep(6 * DAY_S - 1)
    assert shown.trouble() == ""
    clock.sleep(1)
    ends = f"the certificate {tmp_path}/cert.pem expires in 14 days (2026-12-17): renew it"
    assert shown.trouble() == ends
    clock.sleep(14 * DAY_S)
    assert "has expired (2026-12-17)" in shown.trouble()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("self", "c", "k"), "exclude each other"),
        (("self", "", "k"), "exclude each other"),
        (("", "c", ""), "go together"),
        (("", "", "k"), "go together"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    given: tuple[str, str, str], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        tls_files(*given)
    assert tls_files("", "", "") is None
    assert tls_files("", "c", "k") == TlsFiles("c", "k")
    assert tls_files("self", "", "") == OWN


def own(home: Path, effects: Effects, *names: str) -> bytes:
    """The certificate that a server makes, or finds, in its home."""
    made = served(OWN, home, names, effects)
    assert made and made.trouble() == ""
    return (home / "tls" / "cert.pem").read_bytes()


def test_an_own_certificate_is_made_once_for_its_owner_with_the_names_of_the_server(
    tmp_path: Path, effects: Effects
) -> None:
    names = ("127.0.0.1", "gpu-box:7077", "10.0.0.7", "[fd00::7]:7077", "fd00::8", "0.0.0.0")
    first = own(tmp_path, effects, *names, "b\u00fcro.example")
    found = x509.load_pem_x509_certificate(first)
    known = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert known.get_values_for_type(x509.DNSName) == [
        *("localhost", "gpu-box", "xn--bro-hoa.example"),
    ]
    addresses = ["127.0.0.1", "::1", "10.0.0.7", "fd00::7", "fd00::8"]
    assert list(map(str, known.get_values_for_type(x509.IPAddress))) == addresses
    for name, mode in (("tls", 0o700), ("tls/key.pem", 0o600), ("tls/cert.pem", 0o600)):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode
    assert own(tmp_path, effects, *names) == first
    assert own(tmp_path, effects, "gpu-box") == first, "it has more names than are needed"
    assert own(tmp_path, effects, "other-box") != first


def test_an_own_certificate_is_renewed_at_a_start_14_days_before_its_end(
    tmp_path: Path, clock: HandClock, effects: Effects
) -> None:
    first = own(tmp_path, effects)
    clock.sleep(351 * DAY_S - 1)
    assert own(tmp_path, effects) == first
    clock.sleep(1)
    running = ServedCertificate(
        TlsFiles(str(tmp_path / "tls/cert.pem"), str(tmp_path / "tls/key.pem")), effects
    )
    assert "expires in 14 days" in running.trouble()
    assert own(tmp_path, effects) != first


def test_a_half_written_pair_is_made_anew(tmp_path: Path, effects: Effects) -> None:
    first = own(tmp_path, effects)
    write_key(tmp_path / "tls" / "key.pem", ec.generate_private_key(ec.SECP256R1()))
    second = own(tmp_path, effects)
    assert second != first
    (tmp_path / "tls" / "key.pem").chmod(0o644)
    assert own(tmp_path, effects) != second, "another user may have read the key"


def test_no_certificate_has_a_name_that_is_none(tmp_path: Path, effects: Effects) -> None:
    with pytest.raises(InputError, match=r"no host name: .a\.\.b."):
        served(OWN, tmp_path, ["a..b"], effects)


def test_strict_clients_take_an_own_certificate(tmp_path: Path) -> None:
    """As those of Python 3.13 and newer are by default."""
    made = served(OWN, tmp_path, [], SYSTEM)
    assert made
    client = ssl.create_default_context(cafile=tmp_path / "tls" / "cert.pem")
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    ends = [ssl.MemoryBIO() for _ in range(2)]
    near = client.wrap_bio(ends[0], ends[1], server_hostname="localhost")
    far = made.context().wrap_bio(ends[1], ends[0], server_side=True)
    for each in (near, far, near, far, near):
        try:
            each.do_handshake()
        except ssl.SSLWantReadError:
            continue
    found = near.getpeercert(binary_form=True)
    assert found
    shown = x509.load_der_x509_certificate(found).public_bytes(Encoding.PEM)
    assert shown == (tmp_path / "tls" / "cert.pem").read_bytes()
