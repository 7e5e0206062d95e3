"""Events of earlier versions are read, and nothing that they said is lost.

A file in `former` is never written again. Where a later change would misread one, add another.
"""

import gzip
import json
from pathlib import Path

import pytest

from ganglion.ledger.audit import audited
from ganglion.ledger.codec import UNREADABLE, decoded, shown
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Entry
from ganglion.ledger.transfer import imported
from ganglion.model.causes import Cause, CauseKind, sentence
from ganglion.model.causes.former import TAGS
from ganglion.model.events import GangEnded, GangStopping, GangUpdated

CAUSES = Path(__file__).parent / "former" / "1-causes.jsonl.gz"


@pytest.fixture
def former(tmp_path: Path) -> Ledger:
    """A ledger with a sentence for every cause that there was."""
    ledger = Ledger.open(tmp_path / "ledger.db")
    imported(ledger, CAUSES)
    return ledger


def test_sentences_of_an_earlier_ledger_are_causes_and_read_as_they_did(former: Ledger) -> None:
    with gzip.open(CAUSES) as lines:
        rows = [json.loads(line) for line in lines]
    written = [json.loads(row["body"]) for row in rows if "seq" in row]
    found = list(former.replay())
    assert len(found) == len(written)
    kinds = set()
    for event, was in zip(found, written, strict=True):
        if was["type"] not in TAGS:
            assert str(getattr(event, "cause", "")) == was.get("cause", "")
            continue
        cause = getattr(event, "cause", None)
        assert (cause is None) is (not was.get("cause"))
        assert sentence(cause) == was.get("cause", "")
        kinds |= {cause.kind} if cause else set()
    assert set(CauseKind) - kinds == {
        # of later versions
        *(CauseKind.POLICY_BUILT_IN, CauseKind.BUDGET_SPENT, CauseKind.MODEL_UPDATED),
        *(CauseKind.SCALED_DOWN, CauseKind.FEWER_STAND_BY),  # lie inside of others
    }
    assert audited(former).flaws == []
    former.close()


def test_a_new_event_and_an_old_one_are_shown_to_clients_alike() -> None:
    old = b'{"type":"gang_stopping","at":1,"gang":"a-1/0","attempt":1,"cause":"moved for b-1/0"}'
    new = old.replace(b'"moved for b-1/0"', b'{"kind":"moved","gang":"b-1/0"}')
    views = [json.loads(shown(Entry(1, 1, 1, "gang_stopping", body, b""))) for body in (old, new)]
    assert views[0] == views[1]
    assert views[0]["cause"] == "moved for b-1/0"
    assert views[0]["why"] == {"kind": "moved", "gang": "b-1/0"}
    assert decoded(old) == decoded(new) == GangStopping(1, "a-1/0", 1, _moved())


def test_a_damaged_row_is_shown_as_it_is_and_still_no_event() -> None:
    for body in (b'{"type":"gang_stopping","cause":7}', b'{"cause":', b'{"cause":"x"}'):
        assert shown(Entry(1, 1, 1, "gang_stopping", body, b"")) == body
        with pytest.raises(UNREADABLE):
            decoded(body)


def test_an_event_without_a_cause_stays_without_one() -> None:
    body = b'{"type":"gang_updated","at":1,"gang":"a-1/0","held":true,"cause":""}'
    assert decoded(body) == GangUpdated(1, "a-1/0", held=True)
    coded = (
        b'{"type":"gang_ended","at":1,"gang":"a/0","attempt":1,"outcome":"failed","cause":"oom"}'
    )
    ended = decoded(coded)
    assert isinstance(ended, GangEnded)
    assert str(ended.cause) == "oom"
    assert shown(Entry(1, 1, 1, "gang_ended", coded, b"")) == coded


def _moved() -> Cause:
    return Cause(CauseKind.MOVED, gang="b-1/0")
