"""Jobs of two users while server, helper and supervisors of a shared host are killed."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ganglion.lifecycle.status import State
from ganglion.worlds.local.run_files import records
from tests.helper.shared_host import lives, needs_root
from tests.server.accounts.office_host import SharedServer, shared_server
from tests.server.accounts.test_shared_host import submit

pytestmark = needs_root

WAITS = (
    "echo $$; trap 'exit 0' USR1; echo ready;"
    " while ! test -e $HOME/go; do sleep 0.05; done; touch $GANGLION_CHECKPOINT_FILE && echo wrote"
)


@pytest.fixture
def site() -> Iterator[SharedServer]:
    with shared_server() as made:
        yield made


def test_jobs_of_two_users_go_on_while_server_and_helper_are_killed(site: SharedServer) -> None:
    jobs = {}
    for user in ("eve", "bob"):
        with site.user(user) as client:
            jobs[user] = submit(client, f"of-{user}", WAITS)
        site.printed(jobs[user], "ready")
    site.kill()
    site.helper.kill()
    site.start()  # the helper is not there yet
    assert "the helper is not at" in site.said()
    for job in jobs.values():
        site.until(job, lambda each: each.state == State.RUNNING)
    site.helper.start()
    for user, job in jobs.items():
        (site.users[user].home / "go").touch()
        assert site.ended(job).state == State.SUCCEEDED
        assert site.log(job).splitlines()[1:] == ["ready", "wrote"]
        with site.owner() as client:
            assert client.workload(job).gangs[0].attempt == 1
    with site.user("eve") as client:
        again = submit(client, "again", "id -un")
    site.ended(again)
    assert site.log(again).strip() == site.users["eve"].name


def test_what_a_killed_supervisor_leaves_is_ended_before_the_next_attempt_starts(
    site: SharedServer,
) -> None:
    with site.user("eve") as client:
        job = submit(client, "orphan", WAITS, retry={"limit": 1, "on": ["failure"]})
    site.printed(job, "ready")
    pid = int(site.log(job).splitlines()[0])
    begun = records.read(site.home / "runs" / f"{job}.0.1" / records.START)
    assert begun
    assert lives(pid)
    os.kill(begun["pid"], signal.SIGKILL)
    site.until(job, lambda each: each.gangs[0].attempt == 2 and each.state == State.RUNNING)
    assert not lives(pid)
    site.printed(job, "ready")
    again = Path("/proc", site.log(job).splitlines()[0])
    assert again.stat().st_uid == site.users["eve"].uid
    with site.user("eve") as client:
        client.cancel(job, force=True)
    assert site.ended(job).state == State.CANCELLED
