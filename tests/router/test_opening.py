"""Who opens a page, and who only asks for more of one that is open."""

import pytest

from ganglion.router.proxy.headers import opens_page

PAGE = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("method", "headers", "opens"),
    [
        ("GET", {"Sec-Fetch-Mode": "navigate", "Accept": PAGE}, True),
        ("GET", {"Accept": PAGE}, True),
        ("GET", {"Sec-Fetch-Mode": "cors", "Accept": PAGE}, False),
        ("GET", {"Sec-Fetch-Mode": "websocket"}, False),
        ("GET", {"Accept": "application/json"}, False),
        ("GET", {}, False),
        ("POST", {"Sec-Fetch-Mode": "navigate", "Accept": PAGE}, False),
    ],
)
def test_a_page_is_opened_by_a_get_that_navigates(
    method: str, headers: dict[str, str], opens: bool
) -> None:
    assert opens_page(method, headers) is opens
