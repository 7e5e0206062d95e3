"""`notify:` with a real mail server and real commands."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.daily.conftest import Ganglion, Site
from tests.daily.smtp import MailServer
from tests.server.process import until

TO = "ada@example.org"


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server
        server.shutdown()


def settle(home: Path, mail: MailServer | None = None, **others: Any) -> None:
    """Write the settings of a home."""
    smtp = {"host": "127.0.0.1", "port": mail.port, "security": "none"} if mail else None
    text = yaml.safe_dump({"smtp": smtp, "sender": "ganglion@example.org", **others})
    (home / "notify.yaml").write_text(text)


def test_mail_tells_of_start_failure_and_end(
    site: Site, ganglion: Ganglion, mail: MailServer, tmp_path: Path
) -> None:
    settle(site.home, mail)
    notify = {"on": ["start", "failure", "end"], "mail": TO}
    job = site.submit("told", "echo lost; exit 3", retry={"limit": 0}, notify=notify)
    ganglion("wait", job)
    until(lambda: len(mail.mails) == 3)
    assert [each["Subject"] for each in mail.mails] == [
        f"[ganglion] {job} start",
        f"[ganglion] {job} FAILED, exit code 3",
        f"[ganglion] {job} FAILED, exit code 3",
    ]
    last = mail.mails[-1]
    assert (last["To"], last["From"]) == (TO, "ganglion@example.org")
    assert "lost" in str(last.get_payload())
    assert len({each["Message-ID"] for each in mail.mails}) == 3


def test_a_recipient_that_fails_is_shown_and_holds_up_no_other(
    site: Site, ganglion: Ganglion, mail: MailServer, tmp_path: Path
) -> None:
    mail.refuses = True
    done = tmp_path / "done"
    settle(site.home, mail, commands=True)
    notify = {"mail": TO, "command": f"cat > {done}.new; mv {done}.new {done}"}
    job = site.submit("refused", "true", notify=notify)
    ganglion("wait", job)
    until(done.exists, deadline_s=90)
    assert f"job id: {job}" in done.read_text()
    shown = until(
        lambda: "450 not now" in (text := ganglion("describe", job).out) and text, deadline_s=90
    )
    assert f"notify: mail to {TO}: " in " ".join(shown.split())
    mail.refuses = False
    until(lambda: mail.mails, deadline_s=90)
    until(lambda: "450" not in ganglion("describe", job).out, deadline_s=90)


def test_commands_run_only_where_the_owner_allows_them(
    site: Site, ganglion: Ganglion, tmp_path: Path
) -> None:
    settle(site.home)
    done = tmp_path / "done"
    job = site.submit("forbidden", "true", notify={"command": f"touch {done}"})
    ganglion("wait", job)
    until(lambda: "commands are not allowed here" in ganglion("describe", job).out)
    assert not done.exists()


def test_the_homes_own_settings_are_for_workloads_that_do_not_say(
    site: Site, ganglion: Ganglion, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    line = f'echo "$GANGLION_NOTIFY_JOB_ID $GANGLION_NOTIFY_STATE" >> {seen}'
    settle(site.home, commands=True, command=line)
    job = site.submit("usual", "true")
    ganglion("wait", job)
    until(lambda: seen.exists() and f"{job} SUCCEEDED" in seen.read_text())
    settle(site.home)


def test_what_was_not_sent_is_sent_by_the_next_server(
    site: Site, ganglion: Ganglion, mail: MailServer
) -> None:
    mail.refuses = True
    settle(site.home, mail)
    job = site.submit("later", "true", notify=TO)
    ganglion("wait", job)
    until(lambda: mail.asked)
    until(lambda: "450" in (site.home / "notify.json").read_text())
    mail.refuses = False
    site.restart()
    until(lambda: mail.mails, deadline_s=60)
    assert mail.mails[0]["Subject"] == f"[ganglion] {job} SUCCEEDED"


@pytest.mark.parametrize("wrong", ["ada", "a b@c", "-oX@evil", "a@b\nBcc: c@d"])
def test_what_is_no_address_is_refused(site: Site, ganglion: Ganglion, wrong: str) -> None:
    path = site.home / "wrong.yaml"
    path.write_text(yaml.safe_dump({"run": "true", "notify": {"mail": wrong}}))
    done = ganglion("submit", str(path), "--dry-run")
    assert (done.code, "is no mail address" in done.err) == (2, True)
