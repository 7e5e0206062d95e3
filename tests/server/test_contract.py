"""What every route promises: problems, methods, strict types, ids of requests."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.server.app import make_app
from ganglion.server.requests.context import ServerContext
from ganglion.server.rest.openapi import EXAMPLES
from ganglion.server.rest.paths import Paths
from tests.server.test_workloads import API, post, problem


def every_path(client: TestClient) -> dict[str, Any]:
    return client.get(f"{API}/openapi.json").json()["paths"]


def test_a_path_names_all_its_methods_when_it_refuses_one(client: TestClient) -> None:
    post(client)
    for path, methods in {
        "/workloads/a": "GET, HEAD, PATCH",
        "/workloads/a/0": "GET, HEAD, PATCH",
        "/workloads/a/cancel": "POST",
        "/workloads/a/0/cancel": "POST",
        "/workloads/a/why": "GET, HEAD",
        "/workloads": "GET, HEAD, POST",
        "/queues/default": "DELETE, GET, HEAD, PUT",
    }.items():
        for method in {"DELETE", "GET", "PATCH", "POST", "PUT"} - set(methods.split(", ")):
            refused = client.request(method, API + path)
            problem(refused, 405, "http.method", f"{method} {API}{path}", "Allow")
            assert refused.headers["allow"] == methods, (method, path)


def test_every_operation_is_known_to_the_paths(client: TestClient, context: ServerContext) -> None:
    paths: Paths = make_app(context).state.paths
    known = {(each.template, method) for each in paths for method in each.methods}
    described = {
        (path, method.upper()): {
            each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"
        }
        for path, methods in every_path(client).items()
        for method, operation in methods.items()
    }
    assert described.keys() <= known
    # Queries are checked against the routes, which are read faster than the page is built.
    assert {each: paths.query_of(*each) for each in described} == described
    assert {each for each in known if paths.query_of(*each) is not None} == described.keys()


def test_a_path_that_does_not_exist_is_a_problem(client: TestClient) -> None:
    problem(client.get(f"{API}/nothing"), 404, "http.not_found", "/nothing: not found")
    problem(client.get(f"{API}/workloads/a/nothing"), 404, "http.not_found", "not found")


def test_head_is_get_without_its_body_wherever_get_is(client: TestClient) -> None:
    post(client)
    values = {"{ref}": "a", "{name}": "default", "{number}": "0"}
    tried = 0
    for path, methods in every_path(client).items():
        if "get" not in methods:
            continue
        url = path
        for template, value in values.items():
            url = url.replace(template, value)
        # Answers of events have no end: HEAD ends all the same.
        query = "?follow=false" if path.endswith("/events") else ""
        whole, head = client.get(url + query), client.head(url)
        assert (head.status_code, head.content) == (whole.status_code, b""), path
        assert head.headers["content-type"] == whole.headers["content-type"], path
        tried += 1
    assert tried >= 19
    assert client.head("/healthz").status_code == 200
    assert client.head(f"{API}/nothing").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "key"),
    [
        ("POST", "/policy/rollback", {"version": False}, "version"),
        ("POST", "/policy/rollback", {"version": "1"}, "version"),
        ("POST", "/policy/rollback", {"version": 1.0}, "version"),
        ("PATCH", "/workloads/a", {"priority": "5"}, "priority"),
        ("PATCH", "/workloads/a", {"priority": True}, "priority"),
        ("PATCH", "/workloads/a", {"held": 1}, "held"),
        ("PATCH", "/workloads/a", {"hold": True}, "hold"),
        ("POST", "/workloads/a/cancel", {"force": "yes"}, "force"),
        ("PUT", "/policy", {"text": "strict: true", "allow_unknown_flavors": 1}, "allow_unknown"),
        ("PUT", "/drains/n0", {"by": "1"}, "by"),
        ("POST", "/nodes/n0/cordon", {"reason": 5}, "reason"),
        ("POST", "/workloads", {"name": "b", "run": "true", "priority": True}, "priority"),
        ("PUT", "/queues/q", {"priority": False}, "priority"),
        ("PUT", "/bookings/b", {"nodes": ["n0"], "begin": True, "end": 5}, "begin"),
    ],
)
def test_nothing_is_converted_and_the_key_is_named(
    client: TestClient, method: str, path: str, body: Any, key: str
) -> None:
    post(client)
    refused = client.request(method, API + path, json=body)
    problem(refused, 422, "input.field", key)
    assert refused.json()["errors"][0]["key"].startswith(key)


def test_every_wrong_key_of_a_body_is_named(client: TestClient) -> None:
    post(client)
    body = {"priority": 101, "held": "no", "speed": 5}
    refused = client.patch(f"{API}/workloads/a", json=body)
    found = {each["key"]: each["detail"] for each in refused.json()["errors"]}
    assert found == {
        "priority": "should be less than or equal to 100",
        "held": "should be a valid boolean",
        "speed": "unknown key",
    }


def test_a_parameter_that_the_query_of_a_route_does_not_know_is_named(client: TestClient) -> None:
    refused = client.get(f"{API}/workloads?limit=5&folow=true&x=1")
    problem(refused, 422, "input.field", "folow: unknown parameter", "limit")
    assert [each["key"] for each in refused.json()["errors"]] == ["folow", "x"]
    problem(client.get(f"{API}/policy?all=true"), 422, "input.field", "all", "it takes no query")


def test_the_id_of_a_request_is_the_clients_and_names_the_refusal(client: TestClient) -> None:
    refused = client.get(f"{API}/workloads/none", headers={"X-Request-Id": "mine-7"})
    assert refused.headers["x-request-id"] == "mine-7"
    assert refused.json()["instance"] == "urn:ganglion:request:mine-7"
    stranger = client.get(f"{API}/nodes", headers={"Authorization": "", "X-Request-Id": "mine-8"})
    assert (stranger.status_code, stranger.headers["x-request-id"]) == (401, "mine-8")


@pytest.mark.parametrize("given", ["", "a b", 'a"', "x" * 65])
def test_an_id_that_is_not_fit_for_the_log_is_replaced(client: TestClient, given: str) -> None:
    made = client.get(f"{API}/nodes", headers={"X-Request-Id": given}).headers["x-request-id"]
    assert len(made) == 32
    assert made != given


def test_a_problem_has_the_keys_of_its_schema(client: TestClient) -> None:
    page = client.get(f"{API}/openapi.json").json()
    said = client.get(f"{API}/workloads/none").json()
    assert set(page["components"]["schemas"]["Problem"]["properties"]) == set(said)
    assert json.dumps(page).count("ErrorBody") == 0


def test_the_example_of_every_body_is_taken(client: TestClient) -> None:
    post(client, "a", hold=True)
    dormant = {"subject": "user:ada", "role": "operator", "break_glass": True}
    assert client.post(f"{API}/roles:grant", json=dormant).status_code == 200
    seen = set()
    for path, methods in every_path(client).items():
        for method, operation in methods.items():
            if "requestBody" not in operation:
                continue
            seen.add(operation["operationId"])
            body = operation["requestBody"]["content"]["application/json"]["example"]
            named = {"ref": "a", "name": "default", "what": "n0", "hold": "case-1", "number": "1"}
            place = path.format(**named, user="eve", flavor="H100")
            answer = client.request(method, place, json=body)
            # What is missing or in the way of it here says nothing about the body.
            assert answer.status_code in (200, 201, 202, 404, 409), (place, answer.text)
    assert seen == set(EXAMPLES)


def test_two_editors_of_a_queue_do_not_overwrite_one_another(client: TestClient) -> None:
    path = f"{API}/queues/research"
    assert client.put(path, json={"weight": 2}, headers={"If-None-Match": "*"}).status_code == 200
    read = client.get(path)
    tag = read.headers["etag"]
    assert read.json() == {
        "name": "research",
        "document": {"name": "research", "weight": 2},
        "etag": tag,
    }
    (listed,) = [q for q in client.get(f"{API}/queues").json()["items"] if q["name"] == "research"]
    assert listed["etag"] == tag
    mine, theirs = {"weight": 3}, {"weight": 4}
    assert client.put(path, json=mine, headers={"If-Match": tag}).status_code == 200
    late = client.put(path, json=theirs, headers={"If-Match": tag})
    problem(late, 412, "state.stale", "the queue research was changed since it was read")
    newest = client.get(path)
    assert newest.json()["document"]["weight"] == 3
    assert late.headers["etag"] == newest.headers["etag"] != tag
    again = {"If-Match": f'"other", {late.headers["etag"]}'}
    assert client.put(path, json=theirs, headers=again).status_code == 200
    # A tag marked as weak is no proof that nothing was changed.
    weak = {"If-Match": "W/" + client.get(path).headers["etag"]}
    assert client.put(path, json=mine, headers=weak).status_code == 412


def test_a_queue_is_made_or_deleted_only_as_it_was_read(client: TestClient) -> None:
    path = f"{API}/queues/q"
    exists = {"If-Match": "*"}
    problem(client.put(path, json={}, headers=exists), 412, "state.stale", "q was removed")
    assert client.put(path, json={}, headers={"If-None-Match": "*"}).status_code == 200
    taken = client.put(path, json={"weight": 5}, headers={"If-None-Match": "*"})
    problem(taken, 412, "state.stale", "the queue q exists already")
    former = client.get(path).headers["etag"]
    client.put(path, json={"weight": 6})
    assert client.delete(path, headers={"If-Match": former}).status_code == 412
    assert client.delete(path, headers=exists).status_code == 200
    problem(client.get(path), 404, "state.not_found", "there is no queue 'q'")


def test_two_editors_of_the_policy_do_not_overwrite_one_another(client: TestClient) -> None:
    path = f"{API}/policy"
    first = client.get(path).headers["etag"]
    mine = client.put(path, json={"text": "strict: true"}, headers={"If-Match": first})
    assert mine.json()["version"] == 1
    late = client.put(path, json={"text": "strict: false"}, headers={"If-Match": first})
    problem(late, 412, "state.stale", "the policy was changed since it was read")
    assert late.headers["etag"] == client.get(path).headers["etag"]
    back = client.post(f"{path}/rollback", json={"version": 0}, headers={"If-Match": first})
    assert back.status_code == 412
    # A policy file lists queues: one that is set by itself counts as a change of the policy.
    second = late.headers["etag"]
    client.put(f"{API}/queues/new", json={})
    assert client.put(path, json={"text": "{}"}, headers={"If-Match": second}).status_code == 412


def test_what_a_client_has_already_is_not_sent_again(client: TestClient) -> None:
    client.put(f"{API}/policy", json={"text": "strict: true"})
    for path in ("/queues", "/queues/default", "/policy", "/policy/versions", "/policy/versions/1"):
        whole = client.get(API + path)
        known = {"If-None-Match": f'"older", W/{whole.headers["etag"]}'}
        same = client.get(API + path, headers=known)
        assert (same.status_code, same.content) == (304, b""), path
        assert same.headers["etag"] == whole.headers["etag"]
        assert client.get(API + path, headers={"If-None-Match": '"older"'}).json() == whole.json()
    known = {"If-None-Match": client.get(f"{API}/queues").headers["etag"]}
    post(client)
    assert client.get(f"{API}/queues", headers=known).status_code == 200


@pytest.mark.parametrize("header", ["If-Match", "If-None-Match"])
@pytest.mark.parametrize("value", ["x", '"a" "b"', "*, *"])
def test_a_tag_that_is_none_is_refused(client: TestClient, header: str, value: str) -> None:
    refused = client.put(f"{API}/queues/q", json={}, headers={header: value})
    problem(refused, 422, "input.field", header)
