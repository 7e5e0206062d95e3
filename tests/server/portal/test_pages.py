"""The files of the portal: for every caller, without data, and out of reach of other pages."""

import pytest

from tests.server.access.office import API
from tests.server.portal.built import FILES
from tests.server.portal.conftest import PortalOffice

PAGE = FILES["index.html"].decode()


@pytest.mark.parametrize("path", ["/", "/queue", "/workloads/job-1?tab=logs", "/no/such/page"])
def test_a_permalink_is_answered_with_the_portal(portal: PortalOffice, path: str) -> None:
    found = portal.browser().get(path)
    assert (found.status_code, found.text) == (200, PAGE)
    assert found.headers["cache-control"] == "no-cache"
    said = found.headers["content-security-policy"]
    assert said.startswith("default-src 'self';")
    assert "unsafe" not in said
    assert "http" not in said
    assert found.headers["x-content-type-options"] == "nosniff"


def test_a_link_on_another_site_leads_to_the_portal_but_to_no_data(portal: PortalOffice) -> None:
    follows = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    browser = portal.opened()
    assert browser.get("/queue", headers=follows).status_code == 200
    assert browser.get(f"{API}/order", headers=follows).status_code == 403
    other = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert browser.get("/assets/index-abc.js", headers=other).status_code == 403


def test_a_name_that_is_not_the_servers_gets_nothing(portal: PortalOffice) -> None:
    assert portal.browser().get("/", headers={"Host": "evil.example"}).status_code == 421


def test_files_with_a_digest_in_their_names_are_kept_for_ever(portal: PortalOffice) -> None:
    found = portal.browser().get("/assets/index-abc.js")
    assert found.headers["cache-control"].endswith("immutable")
    assert found.headers["content-encoding"] == "gzip"
    assert found.content == FILES["assets/index-abc.js"]
    plain = portal.browser().get("/assets/index-abc.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == found.content
    again = {"If-None-Match": found.headers["etag"]}
    assert portal.browser().get("/assets/index-abc.js", headers=again).status_code == 304


def test_a_file_of_another_build_is_not_found(portal: PortalOffice) -> None:
    found = portal.browser().get("/assets/index-old.js")
    assert (found.status_code, found.json()["code"]) == (404, "http.not_found")


def test_which_build_is_served_is_told(portal: PortalOffice) -> None:
    found = portal.browser().get("/portal.json")
    assert found.headers["cache-control"] == "no-store"
    assert found.json()["build"] == "b1"
    assert found.json()["sign_in"] == "link"


def test_programs_get_the_answers_they_always_got(portal: PortalOffice) -> None:
    stranger = portal.client("")
    assert stranger.get("/no/such/page").status_code == 401
    assert stranger.get(f"{API}/order", headers={"Accept": "text/html"}).status_code == 401
    assert portal.owner.get("/no/such/page").status_code == 404
    assert portal.owner.get("/no/such/page", headers={"Accept": "text/html"}).status_code == 404
    assert stranger.get("/healthz", headers={"Accept": "text/html"}).json()["status"] == "ok"
    assert stranger.get("/metrics", headers={"Accept": "text/html"}).text.startswith("#")
    assert stranger.post("/queue", headers={"Accept": "text/html"}).status_code == 401


def test_a_path_out_of_the_folder_leads_nowhere(portal: PortalOffice) -> None:
    for path in ("/assets/../../manifest.json", "/assets/%2e%2e/manifest.json", "/manifest.json"):
        assert "sha256" not in portal.browser().get(path).text
        assert '"files"' not in portal.browser().get(path).text
