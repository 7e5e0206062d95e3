"""A `review` of login.yaml that cannot work is named at the start, by file and key."""

from pathlib import Path

import pytest
import structlog

from ganglion.model.errors import EnvironmentFault
from ganglion.server.login.exchange.rules import ExchangeRule
from ganglion.server.login.exchange.watching import ReviewWatch
from ganglion.server.login.settings import LoginSettings
from tests.server.login.conftest import URL
from tests.server.process import until

NOWHERE = """
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
"""


def watch(home: Path, *reviews: str) -> ReviewWatch:
    rules = tuple(
        ExchangeRule(f"https://issuer-{number}", {"namespace": "a"}, "sa", review=review)
        for number, review in enumerate(reviews)
    )
    return ReviewWatch(home, LoginSettings(public_url=URL, exchange=rules))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1", "this is not YAML"),
        ("users: {a: 1}", "users: Expected `array | null`"),
        (NOWHERE.replace("current-context: c", ""), "no context is current"),
        (NOWHERE.replace("current-context: c", "current-context: d"), "there is no context 'd'"),
        (NOWHERE.replace("1'}", "1', certificate-authority: /nope}"), "/nope: No such file"),
    ],
)
def test_what_is_wrong_with_a_kubeconfig_is_known_before_any_request(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    found = watch(tmp_path, "", str(file)).trouble()
    assert found.startswith(f"{tmp_path}/login.yaml: exchange[1].review: {file}")
    assert said in found


def test_an_api_server_that_does_not_answer_is_named_and_logged(tmp_path: Path) -> None:
    file, missing = tmp_path / "kubeconfig", tmp_path / "missing"
    file.write_text(NOWHERE)
    watched = watch(tmp_path, str(file), str(missing))
    first, second = (f"{tmp_path}/login.yaml: exchange[{number}].review: " for number in (0, 1))
    assert watched.trouble() == f"{second}{missing}: No such file or directory"
    with structlog.testing.capture_logs() as logged:
        watched.start()
        until(lambda: first in watched.trouble())
        watched.close()
    assert f"{first}the API server answers no TokenReview" in watched.trouble()
    assert f"; {second}{missing}" in watched.trouble()
    assert [(each["code"], each["reason"]) for each in logged] == [
        (EnvironmentFault.code, watched.trouble())
    ]


def test_without_reviews_nothing_is_looked_at(tmp_path: Path) -> None:
    for watched in (watch(tmp_path, ""), ReviewWatch(tmp_path, None)):
        watched.start()
        watched.close()
        assert watched.trouble() == ""
