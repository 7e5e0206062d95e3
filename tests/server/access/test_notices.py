"""What users choose to be notified of."""

import json

import pytest

from ganglion.server.notify.choices import FILE, NoticeChoices
from tests.server.access.office import API, Office

MAIL = {"on": ["failure", "end"], "mail": ["olga@example.org"]}


def test_each_user_has_its_own_choice_which_outlives_the_server(staff: Office) -> None:
    olga, max_ = staff.user("olga", "viewer", "research"), staff.user("max", "viewer", "research")
    hook = {
        **{"on": ["start", "waiting"], "webhook": ["secret:HOOK"], "signing_key": "secret:KEY"},
        "waiting": "90m",
    }
    done = olga.put(f"{API}/notices", json={"items": [MAIL, hook]})
    assert done.status_code == 200, done.text
    first, second = olga.get(f"{API}/notices").json()["items"]
    assert (first["on"], first["mail"]) == (["failure", "end"], ["olga@example.org"])
    assert (second["webhook"], second["signing_key"]) == (["secret:HOOK"], "secret:KEY")
    assert (first["waiting"], second["waiting"]) == ("", "1h30m")
    assert max_.get(f"{API}/notices").json()["items"] == []
    home = staff.rig.home.root
    assert [each.on for each in NoticeChoices(home).of("olga")] == [
        ("failure", "end"),
        ("start", "waiting"),
    ]
    assert olga.put(f"{API}/notices", json={"items": []}).json()["items"] == []
    assert json.loads((home / FILE).read_text()) == {}


@pytest.mark.parametrize(
    ("wish", "key"),
    [
        ({"on": ["lunch"], "mail": ["a@example.org"]}, "items[0].on"),
        ({"on": ["end"], "mail": ["nowhere"]}, "items[0].mail"),
        ({"on": ["waiting"], "mail": ["a@b.example"], "waiting": "9s"}, "items[0].waiting"),
        ({"on": ["end"], "webhook": ["javascript:alert(1)"]}, "items[0].webhook"),
        ({"on": ["end"]}, "items[0].mail"),
        ({"on": ["end"], "mail": ["a@example.org\r\nBcc: b@example.org"]}, "items[0].mail"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_its_key(
    staff: Office, wish: dict[str, object], key: str
) -> None:
    answer = staff.owner.put(f"{API}/notices", json={"items": [wish]})
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["key"].startswith(key), answer.text
    assert staff.owner.get(f"{API}/notices").json()["items"] == []
