"""`notify:` with a real mail server and real commands."""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.daily.conftest import Ganglion, Site
from tests.daily.smtp import MailServer
from tests.server.process import until

TO = "ada@example.org"
KEY = b"k" * 32


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
    assert f"notify: mail to {TO}: " in " ".join(str(shown).split())
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


class Hook(ThreadingHTTPServer):
    """Takes what is posted; `answers` are the statuses of the first ones."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Post)
        self.taken: list[tuple[str, dict[str, str]]] = []
        self.raw: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Post(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.raw.append(({k.lower(): v for k, v in self.headers.items()}, body))
        self.server.taken.append((self.path, json.loads(body)))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


def signature(headers: dict[str, str], content: bytes) -> str:
    """The signature as its receiver works it out: Standard Webhooks."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + content
    return "v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as server:
        yield server
        server.shutdown()


def test_a_webhook_is_sent_json_again_until_it_is_taken(
    site: Site, ganglion: Ganglion, hook: Hook
) -> None:
    settle(site.home)
    job = site.submit("private", "true", notify={"webhook": hook.url})
    ganglion("wait", job)
    shown = until(lambda: "private address" in (said := ganglion("describe", job).out) and said)
    assert "--allow-url" in " ".join(str(shown).split())
    assert hook.taken == []

    site.restart("--allow-url", "127.0.0.1")
    with site.client() as client:
        client.secrets.set("HOOK", f"{hook.url}/of/whom?token=canary")
        client.secrets.set("HOOK_KEY", f"whsec_{base64.b64encode(KEY).decode()}")
    hook.answers = [503]
    notify = {"slack": "secret:HOOK", "signing_key": "secret:HOOK_KEY"}
    job = site.submit("hooked", "echo lost; exit 3", retry={"limit": 0}, notify=notify)
    ganglion("wait", job)
    until(lambda: [path for path, _ in hook.taken].count("/of/whom?token=canary") == 2, 90)
    _, said = hook.taken[-1]
    assert said["text"].startswith(f"{job} FAILED, exit code 3")
    assert (said["event"], said["job_id"], said["exit_code"]) == ("end", job, "3")
    signed = [each for each in hook.raw if "webhook-signature" in each[0]]
    assert [headers["webhook-id"] for headers, _ in signed] == [signed[0][0]["webhook-id"]] * 2
    for headers, content in signed:
        assert headers["webhook-signature"] == signature(headers, content)
    until(lambda: "answered 503" not in ganglion("describe", job).out)
    kept = [each for each in site.home.rglob("*") if each.is_file() and "secrets" not in each.parts]
    found = []
    for each in kept:
        with suppress(FileNotFoundError):  # one that was written anew meanwhile
            found += [each] if b"canary" in each.read_bytes() else []
    assert found == []


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("ftp://example.org/x", "is no URL"),
        ("https://ada:canary@example.org/x", "is no URL"),
        ("secret:not a name", "name"),
        ("https://hooks.slack.com/services/T0000/B0000/XXXXXXXX", "secret:HOOK"),
    ],
)
def test_what_is_no_webhook_is_refused(
    site: Site, ganglion: Ganglion, wrong: str, says: str
) -> None:
    path = site.home / "wrong.yaml"
    path.write_text(yaml.safe_dump({"run": "true", "notify": {"webhook": wrong}}))
    done = ganglion("submit", str(path), "--dry-run")
    assert done.code == 2
    assert says in done.err
