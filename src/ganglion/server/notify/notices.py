"""What is sent to whom, and how: mail, commands and webhooks."""

import asyncio
import base64
import binascii
import hashlib
import hmac
import smtplib
import socket
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import msgspec
from msgspec import Struct, field

from ganglion.model.behaviour import WAITING
from ganglion.model.errors import EnvironmentFault
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import Files, exists
from ganglion.server.notify.settings import NotifySettings, Smtp
from ganglion.specs.grammar.words import SECRET
from ganglion.transport.egress import CheckedTransport, Egress

MAIL_S = 10.0
"""How long a mail server may stay silent."""
HOOK_S = 10.0
"""How long a webhook may stay silent."""
COMMAND_S = 60.0
"""How long a command may take."""
GLASS, BUDGET = "break-glass", "budget"
"""What notices of broken glass, and of budgets that are nearly or wholly spent, are called."""
SAID = 200
"""Characters of a failed command's output that are shown."""
KEY_PREFIX = "whsec_"
LEAST_KEY, MOST_KEY = 24, 64
"""Bytes of a key that signs what webhooks are sent, by Standard Webhooks."""


class Notice(Struct):
    """One message to one recipient.

    Attributes:
        seq: number of the event that it is about.
        workload: id of the workload; empty = it is about none.
        event: `end`, `failure`, `start`, `preemption`, `budget`, `waiting` or `break-glass`.
        channel: `mail`, `command` or `webhook`.
        to: the address, the command, or the URL or the secret that holds it.
        facts: its content, by name of an environment variable without prefix.
        signing_key: `secret:NAME` of the key that signs what a webhook is sent; empty = unsigned.
        first, due: when it was tried first, and is to be tried next, in ms; 0 = at once.
        tries: how often it has failed.
    """

    seq: int
    workload: str
    event: str
    channel: str
    to: str
    facts: dict[str, str]
    signing_key: str = ""
    first: int = 0
    due: int = 0
    tries: int = 0

    @property
    def id(self) -> str:
        """The same for every try, so that one that was sent twice is recognised."""
        return f"{self.seq}-{self.workload}-{self.event}"

    @property
    def lane(self) -> tuple[str, str, str]:
        """Notices of one lane are sent in the order of what happened."""
        return self.workload, self.channel, self.to

    @property
    def recipient(self) -> str:
        """How people call where it goes; commands and URLs may hold secrets."""
        if self.channel == "webhook":
            return (
                f"webhook {self.to if self.to.startswith(SECRET) else urlsplit(self.to).hostname}"
            )
        return f"mail to {self.to}" if self.channel == "mail" else "command"


class Recipients(Struct):
    """How recipients are reached.

    Attributes:
        egress: which addresses may be asked.
        secret: user and name -> what is kept by that name; None = nothing is.
        owner: user of the server, whose secrets `notify.yaml` means where no workload is concerned.
        effects: files, and processes of commands.
    """

    egress: Egress = field(default_factory=Egress)
    secret: Callable[[str, str], str | None] = lambda _user, _name: None
    effects: Effects = SYSTEM
    owner: str = ""


def send(notice: Notice, settings: NotifySettings, reach: Recipients) -> None:
    """Send a notice.

    Raises:
        EnvironmentFault: it could not be sent; the message says why.
    """
    if notice.channel == "command":
        _run(notice, settings, reach.effects)
    elif notice.channel == "webhook":
        content = msgspec.json.encode(_facts(notice))
        headers = _headers(notice, content, reach)
        asyncio.run(_post(_url(notice, reach), content, headers, reach.egress))
    elif settings.smtp:
        _over_smtp(_mail(notice, settings), settings.smtp, reach.effects.files)
    else:
        _over_sendmail(_mail(notice, settings), settings.sendmail, reach.effects)


def subject(notice: Notice) -> str:
    """Return what happened as one line."""
    if notice.event == GLASS:
        place = f"queue {queue}" if (queue := notice.facts["QUEUE"]) else "the whole fleet"
        role, user = notice.facts["ROLE"], notice.facts["USER"]
        return f"{user} broke the glass: role {role} on {place} until {notice.facts['UNTIL']}"
    if notice.event == BUDGET:
        about = f"{notice.workload}, " if notice.workload else ""
        if number := notice.facts.get("REQUEST"):
            about = f"request {number}, "
        return f"{about}budget of queue {notice.facts['QUEUE']}"
    if notice.event == WAITING:
        return f"{notice.workload} has waited for {notice.facts['WAITED']}"
    state = notice.facts["STATE"] if notice.event in ("end", "failure") else notice.event
    code = notice.facts["EXIT_CODE"]
    return f"{notice.workload} {state}" + (f", exit code {code}" if code not in ("", "0") else "")


def body(notice: Notice) -> str:
    """Return the whole text."""
    lines = [f"{name.lower().replace('_', ' ')}: {text}" for name, text in notice.facts.items()]
    more = "audit show --glass" if notice.event == GLASS else "budget list"
    more = "budget requests" if "REQUEST" in notice.facts else more
    more = f"describe {notice.workload}" if notice.workload else more
    return "\n".join([*lines, "", f"ganglion {more}", ""])


def _mail(notice: Notice, settings: NotifySettings) -> EmailMessage:
    mail = EmailMessage()
    host = socket.getfqdn()
    mail["From"] = settings.sender or f"ganglion@{host}"
    mail["To"] = notice.to
    mail["Subject"] = f"[ganglion] {subject(notice)}"
    mail["Message-ID"] = f"<{notice.id}@{host}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(body(notice))
    return mail


def _over_smtp(mail: EmailMessage, smtp: Smtp, files: Files) -> None:
    kind = smtplib.SMTP_SSL if smtp.security == "tls" else smtplib.SMTP
    try:
        with kind(smtp.host, smtp.port, timeout=MAIL_S) as server:
            if smtp.security == "starttls":
                server.starttls()
            if smtp.user:
                server.login(smtp.user, _password(smtp, files))
            server.send_message(mail)
    except (OSError, smtplib.SMTPException) as error:
        raise EnvironmentFault(f"{smtp.host}:{smtp.port}: {_told(error)}") from error


def _told(error: Exception) -> str:
    """An error of SMTP in words, without what was sent."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, text = next(iter(error.recipients.values()))
        return f"{code} {text.decode(errors='replace')}"
    if isinstance(error, smtplib.SMTPResponseException):
        answer: object = error.smtp_error  # bytes, or text where the library made it up
        words = answer.decode(errors="replace") if isinstance(answer, bytes) else str(answer)
        return f"{error.smtp_code} {words}"
    return str(error) or type(error).__name__


def _password(smtp: Smtp, files: Files) -> str:
    lines = files.read(Path(smtp.password_file).expanduser()).decode("utf-8").splitlines()
    return lines[0] if lines else ""


def _over_sendmail(mail: EmailMessage, program: str, effects: Effects) -> None:
    if not exists(effects.files, program):
        raise EnvironmentFault("no mail server is configured: give notify.yaml an `smtp`")
    _done([program, "-t", "-i"], mail.as_bytes(), {}, effects)


def _run(notice: Notice, settings: NotifySettings, effects: Effects) -> None:
    if not settings.commands:
        raise EnvironmentFault(
            "commands are not allowed here: the server's owner sets `commands: true` in notify.yaml"
        )
    names = {"EVENT": notice.event, **notice.facts}
    env = {f"GANGLION_NOTIFY_{name}": text for name, text in names.items()}
    _done(["/bin/sh", "-c", notice.to], body(notice).encode(), env, effects)


def _url(notice: Notice, reach: Recipients) -> str:
    return _kept(notice, notice.to, reach) if notice.to.startswith(SECRET) else notice.to


def _kept(notice: Notice, reference: str, reach: Recipients) -> str:
    """The value of `secret:NAME`. Raises EnvironmentFault."""
    name = reference.removeprefix(SECRET)
    # The user who broke the glass must not say where the notice of it goes.
    user = notice.facts["USER"] if notice.workload else reach.owner
    found = reach.secret(user, name)
    if found is None:
        raise EnvironmentFault(f"no secret {name} is kept: ganglion secret set {name}")
    return found.strip()


def _headers(notice: Notice, content: bytes, reach: Recipients) -> dict[str, str]:
    """Identity, time and signature of what a webhook is sent.

    Source: Standard Webhooks 1.0.0 (standardwebhooks.com): HMAC-SHA256 over id, time in seconds
    and content, joined by dots.

    Raises:
        EnvironmentFault: the key is not kept, or is none.
    """
    at = str(reach.effects.clock.now_ms() // 1000)
    headers = {
        "content-type": "application/json",
        "webhook-id": notice.id,
        "webhook-timestamp": at,
    }
    if notice.signing_key:
        key = _key(notice, reach)
        signed = b".".join((notice.id.encode(), at.encode(), content))
        code = hmac.digest(key, signed, hashlib.sha256)
        headers["webhook-signature"] = f"v1,{base64.b64encode(code).decode()}"
    return headers


def _key(notice: Notice, reach: Recipients) -> bytes:
    text = _kept(notice, notice.signing_key, reach).removeprefix(KEY_PREFIX)
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        key = b""
    if not LEAST_KEY <= len(key) <= MOST_KEY:
        name = notice.signing_key.removeprefix(SECRET)
        raise EnvironmentFault(
            f"secret {name} is no key of {LEAST_KEY} to {MOST_KEY} bytes in base64: "
            f"openssl rand -base64 32 | ganglion secret set {name}"
        )
    return key


def _facts(notice: Notice) -> dict[str, str]:
    """What is sent as JSON; chat programs show `text`."""
    facts = {name.lower(): text for name, text in notice.facts.items()}
    said = f": {notice.facts['MESSAGE']}" if notice.facts["MESSAGE"] else ""
    return {"text": subject(notice) + said, "event": notice.event, **facts}


async def _post(url: str, content: bytes, headers: dict[str, str], egress: Egress) -> None:
    """Send JSON.

    Raises:
        EnvironmentFault: it was not taken; the message has no part of the URL but the host.
    """
    try:
        transport = CheckedTransport(egress, 1)
        async with httpx2.AsyncClient(transport=transport, timeout=HOOK_S) as client:
            answer = await client.post(url, content=content, headers=headers)
    except httpx2.InvalidURL:
        raise EnvironmentFault("that is no URL") from None
    except httpx2.HTTPError as error:
        raise EnvironmentFault(str(error) or type(error).__name__) from None
    if not answer.is_success:
        raise EnvironmentFault(f"{answer.request.url.host} answered {answer.status_code}")


def _done(argv: list[str], typed: bytes, env: dict[str, str], effects: Effects) -> None:
    """Run a program to its end, with all that it started.

    Raises:
        EnvironmentFault: it failed or took too long.
    """
    try:
        done = effects.processes.run(argv, typed, env, COMMAND_S)
    except TimeoutError:
        raise EnvironmentFault(f"it took longer than {COMMAND_S:g} s") from None
    if done.code:
        lines = done.said.decode(errors="replace").strip().splitlines()
        last = f": {lines[-1][:SAID]}" if lines else ""
        raise EnvironmentFault(f"it ended with exit code {done.code}{last}")
