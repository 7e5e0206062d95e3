"""A shared host with real processes: a server without rights, a root helper, two users."""

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from ganglion.client import Client
from ganglion.client.calls.terminals import SessionStatus
from ganglion.lifecycle.status import State
from ganglion.model.errors import Conflict, EnvironmentFault, Forbidden, GanglionError
from ganglion.transport.http import Unproven
from tests.helper.shared_host import as_uid, awaited, needs_root
from tests.server.accounts.office_host import LONG_S, SharedServer, shared_server

pytestmark = needs_root


@pytest.fixture(scope="module")
def site() -> Iterator[SharedServer]:
    with shared_server() as made:
        yield made


@pytest.fixture
def eve(site: SharedServer) -> Iterator[Client]:
    with site.user("eve") as client:
        yield client


@pytest.fixture
def bob(site: SharedServer) -> Iterator[Client]:
    with site.user("bob", "admin") as client:  # on queue default
        yield client


def submit(client: Client, name: str, line: str, **more: Any) -> str:
    return client.submit({"name": name, "run": line, "workdir": "~", **more}).id


def test_programs_run_as_the_account_of_their_user_with_nothing_of_the_servers(
    site: SharedServer, eve: Client
) -> None:
    line = "id -un; pwd; echo $HOME $USER ${OWNERS_SECRET-none} ${GANGLION_HOME-none}"
    job = submit(eve, "who", line)
    assert site.ended(job).state == State.SUCCEEDED, site.log(job)
    account = site.users["eve"]
    said = site.log(job, site.user("eve")).splitlines()
    assert said == [account.name, str(account.home), f"{account.home} {account.name} none none"]
    with site.owner() as client:
        events = [each.event for each in client.events(follow=False)]
    gangs = [each for each in events if each["type"] == "gang_submitted"]
    (submitted,) = (each for each in gangs if each["gang"]["workload"] == job)
    assert submitted["account"] == {"name": account.name, "uid": account.uid}


def test_programs_of_the_owner_still_run_as_the_account_of_the_server(site: SharedServer) -> None:
    with site.owner() as client:
        job = client.submit({"name": "own", "run": "id -un", "workdir": "/"}).id
    assert site.ended(job).state == State.SUCCEEDED
    assert site.log(job) == "daemon\n"


def test_programs_use_their_own_folders_and_read_nothing_of_others(
    site: SharedServer, eve: Client, bob: Client
) -> None:
    held = submit(
        eve,
        "held",
        "cd $GANGLION_CHECKPOINT_DIR; mkdir step-5; echo w > step-5/w;"
        ' echo \'{"checkpoint": {"step": 5, "path": "step-5"}}\' >> $GANGLION_REPORT_FILE;'
        " touch $GANGLION_CHECKPOINT_FILE; cat $GANGLION_HOSTFILE; echo ready;"
        " trap 'cat $GANGLION_STOP_FILE; exit 3' TERM; while :; do sleep 0.05; done",
    )
    site.printed(held, "ready")
    assert "127.0.0.1 slots=1" in site.log(held)
    home, run = site.home, site.home / "runs" / f"{held}.0.1"
    tried = [
        *(f"{home}/{name}" for name in ("token", "ledger.db", "server.json", "accounts.yaml")),
        *(f"{run}/{name}" for name in ("spec.json", "rank-0.log", "exchange/hostfile")),
        *(f"{home}/checkpoints/{held}/0/step-5/w", f"{run}/reports/0.jsonl"),
    ]
    line = (
        f"for f in {' '.join(tried)}; do cat $f >/dev/null 2>&1 && echo reads $f; done;"
        f"for f in {home} {run}; do ls $f >/dev/null 2>&1 && echo lists $f; done;"
        f"echo x > {run}/exchange/leave; echo x > {run}/stop.json; echo tried"
    )
    spying = submit(bob, "spy", line)
    site.ended(spying)
    said = [each for each in site.log(spying).splitlines() if "enied" not in each]
    assert said == ["tried"]
    own = submit(eve, "own-spy", line.replace(f"{run}/exchange/leave", "/dev/null"))
    site.ended(own)
    said = [each for each in site.log(own).splitlines() if "enied" not in each]
    assert [each.rpartition("/")[2] for each in said if each.startswith("reads")] == [
        "hostfile",
        "w",
        "0.jsonl",
    ]
    eve.cancel(held)
    assert site.ended(held).state == State.CANCELLED
    assert "cancelled" in site.log(held).splitlines()
    assert not (run / "exchange").exists()
    with site.owner() as client:
        saved = [each.event for each in client.events(follow=False)]
    assert 5 in [each.get("step") for each in saved if each["type"] == "checkpoint_committed"]


def test_a_submitter_enters_its_own_pods_as_its_own_account(
    site: SharedServer, eve: Client, bob: Client
) -> None:
    job = submit(eve, "entered", "echo ready; sleep 600")
    site.printed(job, "ready")
    with eve.terminals.execute(job, ["sh", "-c", "id -un"]) as session:
        said, found = b"", session.receive()
        while not isinstance(found, SessionStatus):
            said, found = said + found[1], session.receive()
    assert (said.decode().strip(), found.exit_code) == (site.users["eve"].name, 0)
    with (
        pytest.raises(Forbidden, match="another user's") as refused,
        bob.terminals.execute(job, ["id"]),
    ):
        pass
    assert refused.value.code == "access.account"
    eve.cancel(job)
    site.ended(job)


def test_what_failed_is_repeated_as_the_account_that_it_had(
    site: SharedServer, eve: Client, bob: Client
) -> None:
    job = submit(eve, "fails", "id -un; exit 7")
    assert site.ended(job).state == State.FAILED
    with pytest.raises(Forbidden, match="another user's"):
        bob.again.retry(job)
    with site.owner() as client:
        again = client.again.retry(job).id
    site.ended(again)
    assert site.log(again).strip() == site.users["eve"].name
    with site.owner() as client:
        own = client.submit({"name": "owners", "run": "exit 1", "workdir": "/"}).id
    site.ended(own)
    with pytest.raises(Forbidden, match="as the account of this server"):
        bob.again.retry(own)


def test_a_user_without_an_account_is_refused_but_for_dry_runs(site: SharedServer) -> None:
    with site.user("mallory") as client:
        assert client.verdict({"name": "a", "run": "true"}).placement
        with pytest.raises(Forbidden, match="as the account of this server") as refused:
            submit(client, "a", "true")
    assert refused.value.code == "access.account"
    assert "an account for mallory in accounts.yaml" in refused.value.hint


def test_links_in_folders_of_a_program_lead_the_server_nowhere(
    site: SharedServer, eve: Client
) -> None:
    """What the server writes for a program stays where it is."""
    token = site.home / "token"
    line = (
        f"cd $GANGLION_RUN_DIR; rm -f hostfile; ln -s {token} stop; ln -s {token} hostfile;"
        f" ln -s {token} $GANGLION_REPORT_FILE; mkdir -m 700 closed; touch closed/x; echo ready;"
        " trap 'exit 0' TERM; while :; do sleep 0.05; done"
    )
    before = token.read_text()
    job = submit(eve, "links", line)
    site.printed(job, "ready")
    eve.cancel(job)
    site.ended(job)
    assert token.read_text() == before
    awaited(lambda: not (site.home / "runs" / f"{job}.0.1" / "exchange").exists(), LONG_S)
    assert oct(token.stat().st_mode & 0o777) == "0o600"


def checked(client: Client) -> str:
    """What the server says of the helper."""
    return {each.name: each.message for each in client.readiness().checks}["helper"]


def test_without_the_helper_a_submit_says_so_and_the_owner_goes_on(
    site: SharedServer, eve: Client
) -> None:
    site.helper.kill()
    try:
        with pytest.raises(EnvironmentFault, match="the helper is not at") as refused:
            submit(eve, "later", "true")
        assert refused.value.code == "environment.helper"
        with site.owner() as client:
            job = client.submit({"name": "meanwhile", "run": "true", "workdir": "/"}).id
            assert site.ended(job).state == State.SUCCEEDED
            awaited(lambda: "the helper is not at" in checked(client), LONG_S)
    finally:
        site.helper.start()
    job = submit(eve, "later", "true")
    assert site.ended(job).state == State.SUCCEEDED


def test_an_account_calls_by_the_socket_without_a_token(site: SharedServer) -> None:
    assert oct(site.socket.stat().st_mode & 0o777) == "0o666"
    with site.owner() as owner:
        owner.access.grant("user:eve", "submitter", "default")
    with as_uid(site.users["eve"].uid), site.by_socket() as client:
        me = client.access.whoami()
        job = submit(client, "by-socket", "id -un")
    assert (me.user, me.owner, me.token) == ("eve", False, f"uid-{site.users['eve'].uid}")
    site.ended(job)
    assert site.log(job).strip() == site.users["eve"].name
    with as_uid(65_001), site.by_socket() as client, pytest.raises(GanglionError) as refused:
        client.access.whoami()
    assert "uid 65001 is the account of no user" in refused.value.message
    with as_uid(site.users["eve"].uid), pytest.raises(EnvironmentFault, match="enied"):
        Client.of_home(site.home)


def test_a_program_of_another_account_in_the_place_of_the_server_is_sent_nothing(
    site: SharedServer,
) -> None:
    folder = site.socket.parent / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with socket.socket(socket.AF_UNIX) as false:
        with as_uid(site.users["bob"].uid):
            false.bind(str(folder / "api.sock"))
            false.listen()
            (folder / "api.sock").chmod(0o666)
        eves = Client("http://localhost", unix=folder / "api.sock", shared=True)
        with (
            as_uid(site.users["eve"].uid),
            eves,
            pytest.raises(Unproven, match="a process of user"),
        ):
            eves.access.whoami()


def test_a_workspace_goes_on_as_the_same_account(site: SharedServer, eve: Client) -> None:
    line = (
        "echo $(id -un) $(cat $GANGLION_WORKSPACE_DIR/seen); echo x > $GANGLION_WORKSPACE_DIR/seen"
    )
    job = submit(eve, "desk", f"{line}; exec sleep 600", kind="workspace")
    site.printed(job, site.users["eve"].name)
    site.map({"eve": site.users["bob"].name})  # from the next start on
    eve.suspend(job)
    site.until(job, lambda each: each.state == State.SUSPENDED)
    eve.resume(job)
    site.printed(job, f"{site.users['eve'].name} x")
    site.map({user: each.name for user, each in site.users.items()})
    eve.cancel(job)
    site.ended(job)


def test_a_submitter_opens_its_own_service(site: SharedServer, eve: Client, bob: Client) -> None:
    line = "exec /usr/bin/python3 -m http.server --bind 127.0.0.1 $PORT"
    job = submit(eve, "web", line, kind="service", port=8080)
    site.until(job, lambda each: each.state == State.RUNNING)

    def url() -> str:
        with contextlib.suppress(Conflict):  # the router is about to start
            return eve.open(job).url
        return ""

    awaited(url, LONG_S)
    with pytest.raises(Forbidden, match="another user's"):
        bob.open(job)
    eve.cancel(job)
    site.ended(job)
