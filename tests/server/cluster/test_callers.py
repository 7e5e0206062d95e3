"""Views of a scheduler, shown to service accounts as a real API server allows."""

import asyncio
import json
import re
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from fastapi.testclient import TestClient
from joserfc import jwt
from joserfc.jwk import RSAKey

from benchmarks.controlplane.flags import account_key
from ganglion.server.access.reviews import (
    ACCESS,
    LASTS_S,
    LONGEST_TOKEN,
    MOST_KEPT,
    TOKENS,
    CallerReviews,
    ReviewedRight,
    ServiceAccount,
)
from ganglion.server.cluster.callers import HEADER, OPEN, VIEWS, CallerGate
from ganglion.server.cluster.readonly import make_readonly_app
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.session import Params
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint, load
from tests.controlplane.cluster import Cluster
from tests.controlplane.fixtures import cluster, control_plane, control_plane_programs
from tests.faults.clock import HandClock
from tests.server.cluster.test_readonly import Kept
from tests.server.conftest import Rig
from tests.worlds.kubernetes.process import SchedulerProcess
from tests.worlds.kubernetes.rbac import Right, bind_chart_role, chart_rights, define_kinds

__all__ = ["cluster", "control_plane", "control_plane_programs"]

AUDIENCE = "ganglion"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
RULE = {"apiGroups": ["ganglion.dev"], "resources": ["workloads"], "verbs": ["get", "list"]}


class Place:
    """A cluster with a namespace, an account that may see its workloads, and the views.

    Args:
        cluster: the real API server.
        rig: whose state is shown; its workloads are those of two namespaces.
    """

    def __init__(self, cluster: Cluster, rig: Rig) -> None:
        self.cluster, self.clock = cluster, HandClock()
        self.apis: list[Api] = []
        self._kept = Kept(rig)
        self.mine, self.other = (rig.submit(name) for name in ("train", "secret-plan"))
        with rig.service.read() as mind:
            for id, space in ((self.mine, "team-a"), (self.other, "team-b")):
                entry = mind.book.entries[id]
                entry.workload = type(entry.workload)(name=f"{space}/{id}", user=space)
        self.app = make_readonly_app(self._kept)

    def client(self, endpoint: ApiEndpoint | None = None) -> TestClient:
        """A caller of views whose scheduler asks an API server; None = the real one, as admin."""

        def reviews() -> CallerReviews:
            self.apis.append(Api(endpoint or self.cluster.endpoint, timeout_s=5.0))
            return CallerReviews(self.apis[-1], AUDIENCE, self.clock)

        gate = CallerGate(self.app, self.app.state.paths, self._kept, reviews)
        return TestClient(gate, raise_server_exceptions=False)

    def count(self, path: str) -> int:
        """How often the API server was asked at a path."""
        counts = [each for api in self.apis for each in api.tally.counts().items()]
        return sum(n for (_, resource, _), n in counts if resource == path)

    def token(self, name: str = "ci", audience: str = AUDIENCE, space: str = "team-a") -> str:
        """A real token, by TokenRequest."""
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"audiences": [audience] if audience else [], "expirationSeconds": 600},
        }
        path = f"/api/v1/namespaces/{space}/serviceaccounts/{name}/token"
        return str(self.cluster.call("POST", path, body)["status"]["token"])


def account(name: str, space: str = "team-a") -> dict[str, Any]:
    meta = {"name": name, "namespace": space}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}


def allowed(cluster: Cluster, name: str, space: str = "team-a") -> None:
    """Let an account see the workloads of its namespace."""
    meta = {"name": f"see-{name}", "namespace": space}
    group = "rbac.authorization.k8s.io"
    head = {"apiVersion": f"{group}/v1", "metadata": meta}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": space}
    cluster.create(
        {**head, "kind": "Role", "rules": [RULE]},
        {
            **head,
            "kind": "RoleBinding",
            "roleRef": {"apiGroup": group, "kind": "Role", "name": meta["name"]},
            "subjects": [subject],
        },
    )


@pytest.fixture
def place(cluster: Cluster, rig: Rig) -> Iterator[Place]:
    for space in ("team-a", "team-b"):
        cluster.add_namespace(space)
    cluster.create(account("ci"))
    allowed(cluster, "ci")
    made = Place(cluster, rig)
    # RBAC follows its objects a moment later.
    with made.client() as client:
        made.cluster.wait(lambda: status(made, client, made.token()) == 200, "the role counts")
    made.clock.sleep(LASTS_S)
    yield made


@pytest.fixture
def views(place: Place) -> Iterator[TestClient]:
    with place.client() as client:
        yield client


def headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def status(
    place: Place, views: TestClient, token: str, path: str = "/v1/workloads?user=team-a"
) -> int:
    """What a caller is answered now, without answers of before."""
    place.clock.sleep(LASTS_S)
    return views.get("/v1/workloads?user=team-a", headers=headers(token)).status_code


def test_an_account_sees_the_workloads_of_its_namespace_and_no_others(
    place: Place, views: TestClient
) -> None:
    token = place.token()
    found = views.get("/v1/workloads?user=team-a", headers=headers(token))
    assert [each["id"] for each in found.json()["items"]] == [place.mine]
    by_header = views.get("/v1/workloads?user=team-a", headers={HEADER: token})
    assert by_header.status_code == 200, "the proxy of an API server passes it on"
    for path in ("", "/why"):
        assert views.get(f"/v1/workloads/{place.mine}{path}", headers=headers(token)).is_success
    for path in (
        *("/v1/workloads", "/v1/workloads?user=team-b", "/v1/workloads?user=team-a&user=team-b"),
        *("/v1/queues", "/v1/nodes", "/v1/gpus", "/v1/order"),
    ):
        refused = views.get(path, headers=headers(token))
        assert (refused.status_code, refused.json()["code"]) == (403, "access"), path
        assert "system:serviceaccount:team-a:ci may not list" in refused.json()["detail"]


def test_a_workload_of_another_namespace_is_answered_as_one_that_does_not_exist(
    place: Place, views: TestClient
) -> None:
    token = headers(place.token())
    for end in ("", "/why"):
        hidden = views.get(f"/v1/workloads/{place.other}{end}", headers=token)
        none = views.get(f"/v1/workloads/no-such{end}", headers=token)
        assert (hidden.status_code, none.status_code) == (404, 404)
        assert hidden.json()["detail"] == none.json()["detail"].replace("no-such", place.other)


def signed(key: RSAKey, place: Place, ends_s: float) -> str:
    """A token in the form of the real ones."""
    uid = place.cluster.get("/api/v1/namespaces/team-a/serviceaccounts/ci")["metadata"]["uid"]
    own = {"namespace": "team-a", "serviceaccount": {"name": "ci", "uid": uid}}
    now = int(time.time())
    claims = {
        "aud": [AUDIENCE],
        "exp": int(now + ends_s),
        "iat": now - 3600,
        "nbf": now - 3600,
        "iss": "https://kubernetes.default.svc",
        "kubernetes.io": own,
        "sub": "system:serviceaccount:team-a:ci",
    }
    return jwt.encode({"alg": "RS256"}, claims, key)


def test_tokens_that_count_for_nothing_are_401(place: Place, views: TestClient) -> None:
    own = RSAKey.import_key(account_key())
    foreign = rsa.generate_private_key(65_537, 2_048).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    good = signed(own, place, 600)
    assert status(place, views, good) == 200, "the form is right"
    wrong = {
        "expired": signed(own, place, -60),
        "foreign": signed(RSAKey.import_key(foreign), place, 600),
        "wrong audience": place.token(audience="vault"),
        "for the API server": place.token(audience=""),
        "a person's": place.cluster.plane.token(),
        "cut": good[:-10],
        "no token": "nonsense",
        "too long": "x" * (LONGEST_TOKEN + 1),
    }
    for what, token in wrong.items():
        refused = views.get("/v1/workloads?user=team-a", headers=headers(token))
        assert (refused.status_code, refused.json()["code"]) == (401, "auth"), what
        assert refused.headers["WWW-Authenticate"] == "Bearer"
        assert token not in refused.text
    assert views.get("/v1/workloads").status_code == 401


def test_the_token_of_an_account_that_was_deleted_counts_no_more(
    place: Place, views: TestClient
) -> None:
    place.cluster.create(account("gone"))
    allowed(place.cluster, "gone")
    token = place.token("gone")
    place.cluster.wait(lambda: status(place, views, token) == 200, "the account may")
    place.cluster.delete("/api/v1/namespaces/team-a/serviceaccounts/gone")
    place.cluster.wait(lambda: status(place, views, token) == 401, "the account is gone")


def test_an_answer_counts_for_ten_seconds_and_then_the_api_server_is_asked_again(
    place: Place, views: TestClient
) -> None:
    token = place.token()
    assert status(place, views, token) == 200
    tokens, access = place.count("tokenreviews"), place.count("subjectaccessreviews")
    for _ in range(20):
        assert views.get("/v1/workloads?user=team-a", headers=headers(token)).is_success
    assert place.count("tokenreviews") == tokens
    assert place.count("subjectaccessreviews") == access
    place.cluster.delete(f"{ROLES}/namespaces/team-a/rolebindings/see-ci")
    assert views.get("/v1/workloads?user=team-a", headers=headers(token)).is_success
    place.cluster.wait(lambda: status(place, views, token) == 403, "the right is gone")
    assert place.count("subjectaccessreviews") > access


def test_an_api_server_that_says_nothing_is_503_and_never_a_pass(place: Place) -> None:
    token = place.token()
    silent = ApiEndpoint(name="silent", url="https://127.0.0.1:1")
    without_rights = load(place.cluster.account_kubeconfig("team-a", "ci"))
    for endpoint, said in (
        (silent, "TokenReview"),
        (without_rights, "features.callers"),
    ):
        with place.client(endpoint) as views:
            for path in ("/v1/workloads", "/v1/queues"):
                found = views.get(path, headers=headers(token))
                assert (found.status_code, found.json()["code"]) == (503, "environment.reviews")
                assert int(found.headers["Retry-After"]) >= 1
                assert said in found.text
                assert token not in found.text
            assert views.get("/healthz").is_success, "probes ask nothing"


def test_every_view_has_a_right_and_probes_have_none(place: Place, views: TestClient) -> None:
    assert place.app.state.paths.operations == VIEWS.keys() | OPEN
    for path in ("/healthz", "/readyz", "/version", "/metrics"):
        assert views.get(path).is_success
    for path in ("/v1/workloads", "/v1/queues", "/v1/nodes", "/v1/gpus", "/v1/order"):
        assert views.head(path).status_code == 401


def test_a_scheduler_with_the_rights_of_the_chart_shows_its_views_to_accounts_alone(
    place: Place,
) -> None:
    cluster = place.cluster
    define_kinds(cluster)
    reviews = (
        Right("authentication.k8s.io", "tokenreviews", "create"),
        Right("authorization.k8s.io", "subjectaccessreviews", "create"),
    )
    kubeconfig = bind_chart_role(cluster, "asker", (*chart_rights(), *reviews))
    with SchedulerProcess(kubeconfig, "--no-lease", f"--tokens-for={AUDIENCE}") as process:
        said = re.compile(r"metrics on (http\S+[0-9])")
        url = cluster.wait(lambda: said.search(process.log), "an address")[1]
        ask = partial(httpx2.get, timeout=30)
        cluster.wait(lambda: ask(f"{url}/readyz").is_success, "it is ready")
        path = f"{url}/v1/workloads?user=team-a"
        assert ask(path).status_code == 401
        given = headers(place.token())
        cluster.wait(lambda: ask(path, headers=given).status_code == 200, "it leads")
        assert ask(f"{url}/v1/nodes", headers=given).status_code == 403


class Yes:
    """An API server that allows everything, and counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def call(
        self, method: str, path: str, body: bytes, content: str, params: Params | None
    ) -> bytes:
        self.asked.append(path)
        user = {"username": "system:serviceaccount:a:b"}
        known = {"authenticated": True, "user": user, "audiences": [AUDIENCE]}
        return json.dumps({"status": known if path == TOKENS else {"allowed": True}}).encode()

    def pieces(self, path: str, params: Params | None, silence_s: float) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        pass


def test_no_more_answers_are_kept_than_a_limit() -> None:
    asyncio.run(many_tokens())


async def many_tokens() -> None:
    yes, nowhere = Yes(), ApiEndpoint(name="x", url="https://x")
    reviews = CallerReviews(Api(nowhere, exchange=yes), AUDIENCE, HandClock())
    for number in range(MOST_KEPT + 1):
        assert await reviews.account(f"token-{number}")
    await reviews.account(f"token-{MOST_KEPT}")
    assert len(yes.asked) == MOST_KEPT + 1, "the newest is kept"
    await reviews.account("token-0")
    assert len(yes.asked) == MOST_KEPT + 2, "the oldest is not"
    assert await reviews.may(ServiceAccount("a"), ReviewedRight("list", "queues"))
    assert yes.asked[-1] == ACCESS
