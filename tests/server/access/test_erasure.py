"""The name of a user is erased: nothing holds it any more, and everything signed verifies."""

from pathlib import Path

from fastapi.testclient import TestClient

from ganglion.audit.export import exported
from ganglion.audit.folder import AuditFolder
from ganglion.audit.sealing import Sealer, contradicted
from ganglion.audit.verify import AuditVerdict, verified
from ganglion.ledger.people.erasure import unwiped
from ganglion.server.recovery.verify import verified as ledger_verified
from tests.server.access.office import API, Office

EVE = "eve.of-the-lab@example.org"


def worked(staff: Office) -> TestClient:
    """Eve has had grants, tokens and work, of which nothing is live."""
    eve = staff.user(EVE, "submitter", "vision")
    job = staff.submit(eve, "train", "vision")
    eve.patch(f"{API}/workloads/{job}", json={"priority": 70})
    assert eve.put(f"{API}/queues/vision", json={}).status_code == 403
    assert eve.post(f"{API}/workloads/{job}/cancel").status_code == 200
    return eve


def erased(staff: Office, user: str = EVE, client: TestClient | None = None) -> tuple[int, str]:
    body = {"user": user, "reason": f"request of {user}"}
    answer = (client or staff.owner).post(f"{API}/users:erase", json=body)
    return answer.status_code, answer.text


def signed(staff: Office) -> list[bytes]:
    """An export of all that happened so far."""
    ledger, folder = staff.rig.ledger, AuditFolder(staff.rig.home.root)
    Sealer(ledger, folder).seal(ledger.head, 1, ending=True)
    with ledger.still() as reader:
        assert not [*contradicted(reader, folder)]
        return [*exported(reader, folder)]


def check(lines: list[bytes], staff: Office) -> AuditVerdict:
    return verified(lines, AuditFolder(staff.rig.home.root).public())


def files(home: Path) -> dict[str, bytes]:
    """The files of the ledger."""
    return {path.name: path.read_bytes() for path in home.glob("ledger.db*")}


def test_nothing_holds_an_erased_name_and_everything_signed_verifies(staff: Office) -> None:
    worked(staff)
    before = signed(staff)
    assert EVE.encode() in b"".join(before)
    assert EVE.encode() in b"".join(files(staff.rig.home.root).values())

    status, text = erased(staff)
    assert status == 200, text
    token = text.split('"token":"')[1].partition('"')[0]
    assert '"clear":0' in text

    staff.owner.get(f"{API}/queues")  # the state was made anew
    after = signed(staff)
    assert EVE.encode() not in b"".join(after)
    assert token.encode() in b"".join(after)
    for lines in (before, after):
        assert check(lines, staff).sound
    with staff.rig.ledger.still() as reader:
        assert ledger_verified(reader).sound
    for page in ("history", "workloads", "roles", "tokens", "usage?by=user", "events?follow=false"):
        assert EVE not in staff.owner.get(f"{API}/{page}").text, page
    assert token in staff.owner.get(f"{API}/history").text
    assert not unwiped(staff.rig.ledger)
    for name, content in files(staff.rig.home.root).items():
        assert EVE.encode() not in content, name
