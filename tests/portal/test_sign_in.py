"""A sign-in at a real provider, in a real browser, that ends where it began."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from tools.portal import PORTAL

from ganglion.client import Client
from ganglion.client.home import read_server
from ganglion.model.events import (
    Delivered,
    OrderedReason,
    ReasonsChanged,
    SchedulerEnded,
    SchedulerSettled,
    WaitGroups,
    WaitOrder,
)
from tests.portal.test_walk import BROWSERS, ROOT, missing, node
from tests.ports import unused
from tests.provider.provider import CLIENT, SECRET, RealProvider, require
from tests.server.delivered.stories import begun, gang, submitted, turns
from tests.server.process import Nursery, until


class Site(NamedTuple):
    """A server at which users sign in by a provider: its address, its home, and that provider."""

    url: str
    home: Path
    provider: RealProvider


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server with a tree of queues, work and a budget."""
    require()
    tmp_path = tmp_path_factory.mktemp("site")
    url, home = f"http://127.0.0.1:{unused()}", tmp_path / "home"
    provider = RealProvider(tmp_path, unused(), f"{url}/login/callback")
    provider.start()
    home.mkdir(mode=0o700)
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    (home / "login.yaml").write_text(
        f"issuer: {provider.issuer}\nclient_id: {CLIENT}\npublic_url: {url}\n"
        f"client_secret_file: {tmp_path / 'secret'}\nnewcomer_queue: null\n"
    )
    nursery = Nursery(home, int(url.rpartition(":")[2]))
    nursery.start()
    until(lambda: read_server(home), 60)
    with Client.of_home(home) as owner:
        _furnish(owner)
    yield Site(url, home, provider)
    nursery.close()
    provider.stop()


def _furnish(owner: Client) -> None:
    owner.access.grant("user:eve@example.org", "viewer")
    owner.access.grant("user:olga@example.org", "owner", "red")
    owner.set_queue("red-a", {"parent": "red", "quota": {"H100": 1}})
    for name, queue in (("ours", "red-a"), ("theirs", "blue")):
        job = {"name": name, "run": "true", "queue": queue, "hold": True}
        owner.submit(job | {"resources": {"gpus": 1}})
    owner.money.set_price("H100", 2_500_000, currency="EUR")
    for queue in ("red-a", "blue"):
        owner.money.set_budget(queue, 100_000_000)
    _deliver(owner)
    owner.money.request_budget("red-a", 50_000_000, "more nodes for the paper")


def _deliver(owner: Client) -> None:
    """In east two gangs wait in an order that its scheduler says; the one of west has ended."""
    for cluster in ("east", "west"):
        keys = [gang(each).id for each in ("second", "first")]
        sent = [submitted(0, "first"), submitted(0, "second", "org")]
        said = WaitOrder(0, tuple(keys), (OrderedReason("quota", "6 of 6 GPUs are taken", (1, 2)),))
        reasons: list[Delivered] = [
            WaitGroups(0, {"1": tuple(keys)}),
            ReasonsChanged(0, {"quota": (keys[0],)}),
            said,
        ]
        end = [SchedulerEnded(0)] if cluster == "west" else []
        records = turns(([*begun(0), *sent, SchedulerSettled(0), *reasons, *end], []))
        body = {"scheduler": "s1", "records": msgspec.to_builtins(records)}
        owner._http.call("POST", f"/clusters/{cluster}/records", Any, body=body)


def _browsed(site: Site, script: str, user: str, **more: str) -> None:
    """Run a script in a browser, in which a user signs in next."""
    site.provider.account(user)
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    done = subprocess.run(
        [node(), str(PORTAL / "e2e" / script)],
        env={**os.environ, "SITE": site.url, "CHROMIUM": browser, **more},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(bool(missing()), reason=f"NO SIGN-IN IN A BROWSER: {missing()}")
def test_who_is_not_signed_in_is_led_to_the_provider_and_back(site: Site) -> None:
    _browsed(site, "sign_in.mjs", "eve")


@pytest.mark.skipif(bool(missing()), reason=f"NO SIGN-IN IN A BROWSER: {missing()}")
def test_the_owner_of_a_part_of_the_queues_has_that_part_and_sees_no_other(site: Site) -> None:
    role = ["role", "grant", "user:olga@example.org", "admin", "-q", "red"]
    promote = ["env", f"GANGLION_HOME={site.home}", sys.executable, "-m", "ganglion", *role]
    _browsed(site, "owner.mjs", "olga", PROMOTE=json.dumps(promote))
