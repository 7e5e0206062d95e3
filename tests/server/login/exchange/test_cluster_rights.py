"""Which right of a cluster a role needs, and the commands that grant it."""

import json
import shlex

import pytest

from ganglion.identity.roles import Role
from ganglion.server.access.reviews import ServiceAccount
from ganglion.server.login.exchange.cluster_rights import missing, parts_of, verb_for

ACCOUNT = ServiceAccount("system:serviceaccount:research:trainer")


@pytest.mark.parametrize(
    ("role", "verbs"),
    [
        (Role.VIEWER, ["get"]),
        (Role.SUBMITTER, ["use", "get"]),
        (Role.MAINTAINER, ["update", "use", "get"]),
        (Role.ADMIN, ["update", "use", "get"]),
        (Role.AUDITOR, ["update", "get"]),
        (Role.REPORTER, ["update"]),
    ],
)
def test_a_role_is_left_as_far_as_the_cluster_allows(role: Role, verbs: list[str]) -> None:
    assert [verb_for(each) for each in parts_of(role)] == verbs
    assert parts_of(role)[0] is role


@pytest.mark.parametrize("queue", ["", "vision", "east:", "east:it's"])
def test_the_commands_of_a_refusal_are_about_the_queue_alone(queue: str) -> None:
    hint = missing(ACCOUNT, Role.SUBMITTER, queue).hint
    echo, text, pipe, *words = shlex.split(hint)
    assert (echo, pipe) == ("echo", "|")
    role = json.loads(text)
    wanted = {"apiGroups": ["ganglion.dev"], "resources": ["queues"], "verbs": ["use"]}
    assert role["rules"] == [wanted | ({"resourceNames": [queue]} if queue else {})]
    assert f"--clusterrole={role['metadata']['name']}" in words
    assert "--serviceaccount=research:trainer" in words
