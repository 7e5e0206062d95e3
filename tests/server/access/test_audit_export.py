"""The audit trail through the server: streamed, signed at once, for those who may audit all."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fastapi.testclient import TestClient

from ganglion.audit.folder import AuditFolder
from ganglion.audit.verify import AuditVerdict, verified
from ganglion.seams.effects import SYSTEM
from ganglion.server.audit.signing import APART_S, Signing
from ganglion.server.routes import audit
from tests.faults.clock import HandClock
from tests.server.access.office import API, Office, office
from tests.server.conftest import Rig


@contextmanager
def signing_office(rig: Rig, clock: HandClock) -> Iterator[Office]:
    """A server that signs; its minute never passes."""
    effects = SYSTEM._replace(clock=clock)
    signing = Signing(rig.home.root, rig.ledger, lambda: 0, effects)
    rig.service.start()
    signing.start()
    try:
        with office(rig, sign=signing.at_once, reached=signing.reached) as staff:
            yield staff
    finally:
        signing.close()
        rig.service.stop()


def exported(client: TestClient) -> list[bytes]:
    """The lines of an export."""
    answer = client.get(f"{API}/audit/export")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/jsonl"
    return answer.content.splitlines(keepends=True)


def check(lines: list[bytes], rig: Rig) -> AuditVerdict:
    return verified(lines, AuditFolder(rig.home.root).public())


def test_an_auditor_gets_all_of_it_signed_at_once(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "AT_ONCE", 3)
    with signing_office(rig, HandClock()) as staff:
        ina = staff.user("ina", "auditor")
        staff.submit(staff.owner, "train", "vision")
        head = rig.ledger.head
        found = check(exported(ina), rig)
        assert (found.sound, found.first, found.signed >= head) == (True, 1, True)
        assert b'"name":"ina"' in b"".join(exported(ina))


def test_checkpoints_that_exports_ask_for_are_apart(rig: Rig) -> None:
    clock = HandClock()
    with signing_office(rig, clock) as staff:
        first = check(exported(staff.owner), rig)
        staff.submit(staff.owner, "train", "vision", hold=True)
        soon = check(exported(staff.owner), rig)
        assert (soon.sound, soon.checkpoints) == (True, first.checkpoints)
        assert soon.unsigned > 0
        clock.sleep(APART_S)
        later = check(exported(staff.owner), rig)
        assert (later.sound, later.unsigned) == (True, 0)


def test_without_a_checkpoint_it_says_so(staff: Office) -> None:
    answer = staff.owner.get(f"{API}/audit/export")
    assert answer.status_code == 404
    assert "nothing of this ledger was signed" in answer.text


@pytest.mark.parametrize(("role", "queue"), [("viewer", ""), ("operator", ""), ("auditor", "org")])
def test_who_may_not_audit_all_gets_nothing(staff: Office, role: str, queue: str) -> None:
    bob = staff.user("bob", role, queue)
    assert bob.get(f"{API}/audit/export").status_code == 403
