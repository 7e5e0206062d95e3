"""The name of a user is erased: nothing holds it any more, and everything signed verifies."""

from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from fastapi.testclient import TestClient

from ganglion.api.whatif.report import WhatIf
from ganglion.audit.export import exported
from ganglion.audit.folder import AuditFolder
from ganglion.audit.sealing import Sealer, contradicted
from ganglion.audit.verify import AuditVerdict, verified
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.people.erasure import unwiped
from ganglion.ledger.records import Cut, Snapshot
from ganglion.server.recovery import checkpoint, retention
from ganglion.server.recovery.verify import verified as ledger_verified
from ganglion.server.whatif.questions import WhatIfQuestions
from tests.server.access.conftest import Staffed
from tests.server.access.office import API, Office, office

EVE = "eve.of-the-lab@example.org"


def worked(staff: Office) -> TestClient:
    """Eve has had grants, tokens and work, of which nothing is live."""
    eve = staff.user(EVE, "submitter", "vision")
    job = staff.submit(eve, "train", "vision", held=True)
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


def test_the_state_after_a_restart_has_pseudonyms_too(rig: Staffed) -> None:
    rig.service.start()
    with office(rig) as staff:
        worked(staff)
        assert erased(staff)[0] == 200
    rig.service.stop()
    rig.crash()
    assert verified_ledger(rig.ledger)
    rig.service.start()
    with office(rig) as staff:
        assert EVE not in staff.owner.get(f"{API}/history").text
        again = staff.user(EVE, "submitter", "vision")
        assert staff.submit(again, "train", "vision", held=True)
        assert EVE in staff.owner.get(f"{API}/workloads").text
    rig.service.stop()


def test_answers_to_what_if_questions_have_the_pseudonym(rig: Staffed) -> None:
    folder = rig.home.root / "whatif"
    folder.mkdir()
    asked = WhatIf("wi-1", 5, EVE, "done")
    (folder / "wi-1.json").write_bytes(msgspec.json.encode(asked))
    questions = WhatIfQuestions(rig.home.root, rig.home.ledger)
    rig.service.start()
    with office(rig, questions=questions) as staff:
        worked(staff)
        staff.owner.put(f"{API}/holds/case-117", json={"reason": "case 26-117"})
        assert erased(staff)[0] == 409
        before = staff.owner.get(f"{API}/whatif/wi-1").json()
        assert (before["user"], before["url"]) == (EVE, "/what-if/wi-1")
        staff.owner.delete(f"{API}/holds/case-117")
        status, text = erased(staff)
        assert status == 200, text
        shown = staff.owner.get(f"{API}/whatif/wi-1").json()["user"]
        assert f'"token":"{shown}"' in text
    rig.service.stop()
    assert EVE.encode() not in (folder / "wi-1.json").read_bytes()


def test_grants_tokens_and_sessions_end_with_the_name(staff: Office) -> None:
    eve = worked(staff)
    assert erased(staff)[0] == 200
    assert eve.get(f"{API}/whoami").status_code == 401
    kinds = [event["type"] for event in staff.events(staff.owner)]
    assert kinds[-3:] == ["role_revoked", "token_revoked", "user_erased"]
    assert all(event.get("actor") == "ada" for event in staff.events(staff.owner)[-3:])


def test_a_legal_hold_keeps_names(staff: Office) -> None:
    worked(staff)
    staff.owner.put(f"{API}/holds/case-117", json={"reason": "case 26-117"})
    status, text = erased(staff)
    assert status == 409
    assert "case-117" in text
    assert EVE in staff.owner.get(f"{API}/history").text
    staff.owner.delete(f"{API}/holds/case-117")
    assert erased(staff)[0] == 200


def test_what_a_user_still_has_keeps_the_name(staff: Office) -> None:
    eve = worked(staff)
    eve.put(f"{API}/secrets/key", json={"value": "x"})
    assert "keeps a secret here: key" in erased(staff)[1]
    eve.delete(f"{API}/secrets/key")
    job = staff.submit(eve, "again", "vision", held=True)
    status, text = erased(staff)
    assert (status, job in text) == (409, True)
    assert erased(staff, "ada")[0] == 409
    assert erased(staff, "zoe")[0] == 404


@pytest.mark.parametrize("role", ["auditor", "operator", "owner", "viewer"])
def test_only_admins_erase(staff: Office, role: str) -> None:
    worked(staff)
    assert erased(staff, EVE, staff.user("bob", role))[0] == 403
    assert EVE in staff.owner.get(f"{API}/history").text


def test_a_checkpoint_that_names_the_user_is_said(staff: Office) -> None:
    worked(staff)
    service, ledger = staff.rig.service, staff.rig.ledger
    with service.read() as mind:
        body = checkpoint.written(mind, {})
    kept = Snapshot(ledger.head, ledger.cycle, 1, "0", ledger.checksum, body)
    ledger.keep(kept)
    cut = Cut(kept.seq, 1, kept.checksum, sha256(body).digest())
    service.ask(lambda draft: retention._write(draft, cut, 1))
    status, text = erased(staff)
    assert status == 409
    assert "the checkpoint there names" in text


def test_a_changed_byte_of_a_name_in_an_export_is_found(staff: Office) -> None:
    worked(staff)
    lines = signed(staff)
    at = next(n for n, line in enumerate(lines) if EVE.encode() in line and b'"person"' in line)
    person = lines[at]
    for byte in range(len(person) - 1):
        other = person[:byte] + bytes([person[byte] ^ 1]) + person[byte + 1 :]
        assert check([*lines[:at], other, *lines[at + 1 :]], staff).flaws[0].line == at + 1
    assert not check([*lines[:at], *lines[at + 1 :]], staff).sound


def verified_ledger(ledger: Ledger) -> bool:
    with ledger.still() as reader:
        return ledger_verified(reader).sound
