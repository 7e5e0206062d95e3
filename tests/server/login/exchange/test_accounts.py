"""Service accounts of a real cluster get personal tokens, as its API server and the rules say."""

import json
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ganglion.model.errors import InputError
from ganglion.server.login.exchange.grant import JWT
from ganglion.server.login.exchange.rules import ClaimValue, ExchangeRule
from ganglion.server.login.settings import FILE, LoginSettings, read_login
from tests.controlplane.cluster import Cluster
from tests.controlplane.fixtures import cluster, control_plane, control_plane_programs
from tests.server.access.conftest import Staffed
from tests.server.access.office import API
from tests.server.login.conftest import URL
from tests.server.login.exchange.conftest import CiOffice
from tests.server.login.exchange.issuer import CiIssuer
from tests.worlds.kubernetes.rbac import RBAC, Right, bind_chart_role, may

__all__ = ["cluster", "control_plane", "control_plane_programs"]

SPACE = "research"
TRAINER: dict[str, ClaimValue] = {"namespace": SPACE, "name": "trainer"}


class Accounts:
    """A cluster, and a server that takes tokens of its accounts.

    Args:
        cluster: the real API server.
        office: the server.
    """

    def __init__(self, cluster: Cluster, office: CiOffice) -> None:
        self.cluster, self.office = cluster, office

    def token(self, name: str = "trainer", space: str = SPACE, audience: str = URL) -> str:
        return token_of(self.cluster, name, space, audience)


def token_of(cluster: Cluster, name: str, space: str, audience: str) -> str:
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": [audience] if audience else [], "expirationSeconds": 600},
    }
    path = f"/api/v1/namespaces/{space}/serviceaccounts/{name}/token"
    return str(cluster.call("POST", path, body)["status"]["token"])


def issuer_of(token: str) -> str:
    part = token.split(".")[1]
    claims = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return str(claims["iss"])


def account(name: str, space: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": space}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}


def served(rig: Staffed, issuer: CiIssuer, cluster: Cluster, review: Path) -> CiOffice:
    named = issuer_of(token_of(cluster, "trainer", SPACE, URL))
    rule = ExchangeRule(named, TRAINER, "sa-trainer", lasting="30m", review=str(review))
    claims: dict[str, ClaimValue] = {"namespace": SPACE, "name": "visitor"}
    other = ExchangeRule(named, claims, "sa-visitor", queue="research", review=str(review))
    settings = LoginSettings(public_url=URL, exchange=(rule, other))
    return CiOffice(rig, issuer, settings)


def allow(cluster: Cluster, name: str, verb: str, queue: str = "") -> None:
    """Let an account of the namespace do something with a queue, or with all; and it counts."""
    right = Right("ganglion.dev", "queues", verb, name=queue)
    user = f"system:serviceaccount:{SPACE}:{name}"
    own = f"{verb}-{queue or 'all'}-{name}"
    head = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": own}}
    rule = {"apiGroups": ["ganglion.dev"], "resources": ["queues"], "verbs": [verb]}
    rule |= {"resourceNames": [queue]} if queue else {}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": SPACE}
    ref = {"apiGroup": RBAC, "kind": "ClusterRole", "name": own}
    cluster.create(
        {**head, "kind": "ClusterRole", "rules": [rule]},
        {**head, "kind": "ClusterRoleBinding", "roleRef": ref, "subjects": [subject]},
    )
    cluster.wait(lambda: may(cluster, user, right), f"{user}: {right}")


@pytest.fixture
def made(cluster: Cluster) -> Cluster:
    for space in (SPACE, "other"):
        cluster.add_namespace(space)
        cluster.create(account("trainer", space))
    cluster.create(account("visitor", SPACE))
    allow(cluster, "trainer", "update")
    return cluster


@pytest.fixture
def accounts(rig: Staffed, issuer: CiIssuer, made: Cluster) -> Iterator[Accounts]:
    office = served(rig, issuer, made, made.kubeconfig)
    with office.owner:
        yield Accounts(made, office)


def test_an_account_does_what_was_granted_to_the_user_of_its_rule(accounts: Accounts) -> None:
    office = accounts.office
    office.grant("user:sa-trainer", "submitter", "research")
    given = accounts.token()
    for _ in range(2):  # it is good until its pod ends, so that a new container can use it again
        found = office.exchange(given, subject_token_type=JWT)
        assert found.status_code == 200, found.text
    client = office.client(found.json()["access_token"])
    assert client.get(f"{API}/whoami").json()["user"] == "sa-trainer"
    office.submit(client, "train", "vision")
    event = [each for each in office.events(office.owner) if each["type"] == "token_created"][-1]
    assert event["label"].endswith(f"system:serviceaccount:{SPACE}:trainer")
    assert office.denied() == []


def test_other_accounts_and_tokens_get_none(accounts: Accounts) -> None:
    office, good = accounts.office, accounts.token()
    accounts.cluster.create(account("stranger", SPACE))
    for name, space in (("stranger", SPACE), ("trainer", "other")):
        assert "no rule of exchange fits" in office.refused(accounts.token(name, space))
    head, body, signature = good.split(".")
    for wrong in (
        accounts.token(audience=""),
        accounts.token(audience="vault"),
        f"{head}.{body}.{signature[::-1]}",
    ):
        assert "does not accept the token" in office.refused(wrong)
    denied = office.denied()
    assert any("wants another name" in each for each in denied)
    assert any("wants another namespace" in each for each in denied)
    assert not any(good in each or signature in each for each in denied)


def test_the_token_of_an_account_that_was_deleted_gets_none(accounts: Accounts) -> None:
    office, token = accounts.office, accounts.token()
    assert office.exchange(token).status_code == 200
    accounts.cluster.delete(f"/api/v1/namespaces/{SPACE}/serviceaccounts/trainer")

    def is_refused() -> bool:
        office.clock.ahead_s += 60  # a minute's tries are over
        return bool(office.exchange(token).status_code == 400)

    accounts.cluster.wait(is_refused, "it counts no more")
    assert "does not accept the token" in office.refused(token)


@pytest.mark.parametrize(
    ("rights", "said"),
    [
        ((), "TokenReview"),
        ((Right("authentication.k8s.io", "tokenreviews", "create"),), "SubjectAccessReview"),
    ],
)
def test_a_server_that_may_not_ask_gives_none_and_says_what_it_needs(
    rig: Staffed, issuer: CiIssuer, made: Cluster, rights: tuple[Right, ...], said: str
) -> None:
    review = bind_chart_role(made, f"asks-{len(rights)}", rights)
    office = served(rig, issuer, made, review)
    with office.owner:
        found = office.exchange(token_of(made, "trainer", SPACE, URL))
        events = office.events(office.owner)
    assert (found.status_code, found.json()["error"]) == (503, "temporarily_unavailable")
    assert f"the API server answers no {said}:" in found.json()["error_description"]
    assert (found.json()["code"], found.headers["retry-after"]) == ("environment.reviews", "5")
    assert not [each for each in events if each["type"] == "token_created"]


def test_what_the_cluster_allows_is_all_that_the_token_gives(accounts: Accounts) -> None:
    office, cluster, given = accounts.office, accounts.cluster, accounts.token("visitor")
    office.grant("user:sa-visitor", "admin")
    refused = office.exchange(given)
    assert (refused.status_code, refused.json()["error"]) == (403, "access_denied")
    said = refused.json()["error_description"]
    assert refused.json()["code"] == "access.cluster"
    user = f"system:serviceaccount:{SPACE}:visitor"
    assert said.startswith(f"no role of the cluster lets {user} update queue 'research'")
    assert office.denied()[-1].endswith(said)

    def scope(**more: str) -> str:
        found = office.exchange(given, **more)
        assert found.status_code == 200, found.text
        return str(found.json()["scope"])

    allow(cluster, "visitor", "use", "vision")  # below research
    assert office.exchange(given).status_code == 403
    token = office.exchange(given, scope="queue:vision").json()["access_token"]
    client = office.client(token)
    assert client.get(f"{API}/whoami").json()["limit"] == "role submitter on queue vision"
    office.submit(client, "train", "vision")
    allow(cluster, "visitor", "get", "research")
    assert scope() == "role:viewer queue:research"
    allow(cluster, "visitor", "use", "research")  # counts for the queues below it, too
    assert scope() == "role:submitter queue:research"
    allow(cluster, "visitor", "update")
    assert scope(scope="queue:vision") == "role:admin queue:vision"


@pytest.mark.parametrize(
    ("scope", "error", "said"),
    [
        ("queue:default", "invalid_request", "is limited to queue research"),
        ("queue:vision queue:speech", "invalid_scope", "queue:NAME"),
        ("admin", "invalid_scope", "queue:NAME"),
    ],
)
def test_a_request_cannot_widen_what_its_rule_says(
    accounts: Accounts, scope: str, error: str, said: str
) -> None:
    found = accounts.office.exchange(accounts.token("visitor"), scope=scope)
    assert (found.status_code, found.json()["error"]) == (400, error)
    assert said in found.json()["error_description"]


@pytest.mark.parametrize(
    ("claims", "more", "said"),
    [
        ("{name: trainer}", "", "every namespace"),
        ("{namespace: a}", "ca_file: /x", "kubeconfig file names certificates"),
    ],
)
def test_a_rule_that_names_no_namespace_is_refused_at_the_start(
    tmp_path: Path, claims: str, more: str, said: str
) -> None:
    rule = f"issuer: https://kubernetes.default.svc\n  claims: {claims}\n  user: sa\n  {more}\n"
    text = f"public_url: {URL}\nexchange:\n- review: in-cluster\n  {rule}"
    (tmp_path / FILE).write_text(text)
    with pytest.raises(InputError) as refused:
        read_login(tmp_path)
    assert said in f"{refused.value.message} {refused.value.hint}"
