"""The few pages of signing in, without scripts."""

from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape

from starlette.responses import HTMLResponse

from ganglion.server.login.pairings import Pairing

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem;"
    "color-scheme:light dark}code{font-size:1.1em}button{font:inherit;padding:.4rem 1rem;"
    "min-height:2.5rem}"
    "input{font:inherit;padding:.4rem;min-height:1.7rem;max-width:12rem}dt{font-weight:bold}"
)
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self';"
        " frame-ancestors 'none'; base-uri 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Of every page: nothing is kept, loaded from elsewhere, framed, or sent on in a referrer."""


def page(
    title: str, body: str, status: int = 200, *, follow: str = "", wait_s: int = 0
) -> HTMLResponse:
    """A page.

    Args:
        title: as text.
        body: as HTML; whatever is not ours in it is escaped already.
        status: of HTTP.
        follow: path that browsers go on to; empty = they stay.
        wait_s: when to try again; 0 = it is not said.
    """
    refresh = f'<meta http-equiv="refresh" content="0;url={escape(follow)}">' if follow else ""
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{refresh}'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)} - Ganglion</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )
    more = {"Retry-After": str(wait_s)} if wait_s else {}
    return HTMLResponse(text, status, headers={**HEADERS, **more})


def refusal(status: int, message: str, hint: str = "", wait_s: int = 0) -> HTMLResponse:
    """A page that says why something was refused, and what to do."""
    said = f"<p>{escape(_sentence(message))}</p>"
    said += f"<p>{escape(_sentence(hint))}</p>" if hint else ""
    return page(
        "Not signed in", said + '<p><a href="/login">Sign in</a></p>', status, wait_s=wait_s
    )


def account(user: str, groups: tuple[str, ...], token: str, follow: str = "") -> HTMLResponse:
    """The page of a user who is signed in.

    Args:
        user: name.
        groups: names.
        token: shows that a form was on a page of ours.
        follow: path that the browser goes on to; empty = it stays.
    """
    of = f" Groups: {escape(', '.join(groups))}." if groups else ""
    link = f'<p><a href="{escape(follow)}">Go on</a></p>' if follow else ""
    form = (
        '<form method="post" action="/logout">'
        f'<input type="hidden" name="csrf" value="{escape(token)}">'
        "<button>Sign out</button></form>"
    )
    said = f"<p>You are signed in as <strong>{escape(user)}</strong>.{of}</p>{link}"
    said += f'<p><a href="/login/pair">Sign in a command line</a></p>{form}'
    return page("Signed in", said, follow=follow)


def sign_in_first(follow: str) -> HTMLResponse:
    """The page of a browser without a session, which goes on to sign in.

    Args:
        follow: path where it does.
    """
    link = f'<p><a href="{escape(follow)}">Sign in</a></p>'
    return page("Not signed in", link, 401, follow=follow)


def ask_code(status: int = 200, trouble: str = "", wait_s: int = 0) -> HTMLResponse:
    """The page where a user types the code that a command line shows.

    Args:
        status: of HTTP.
        trouble: what was wrong with the one before; empty = nothing.
        wait_s: when to try again; 0 = it is not said.
    """
    said = f'<p role="alert">{escape(_sentence(trouble))}</p>' if trouble else ""
    form = (
        '<form method="get" action="/login/pair">'
        '<p><label for="code">Code that <code>ganglion login</code> shows</label></p>'
        '<p><input id="code" name="code" required autofocus autocomplete="off" maxlength="20"'
        ' spellcheck="false" autocapitalize="characters"> <button>Go on</button></p></form>'
    )
    return page("Sign in a command line", said + form, status, wait_s=wait_s)


def ask_consent(pairing: Pairing, user: str, token: str, now_ms: int) -> HTMLResponse:
    """The page where a user confirms or refuses a command line.

    Args:
        pairing: what asks.
        user: name.
        token: shows that a form was on a page of ours.
        now_ms: the time.
    """
    at = datetime.fromtimestamp(pairing.begun_ms / 1000, UTC)
    ago_s = max(0, now_ms - pairing.begun_ms) // 1000
    rows = (
        ("Code", f"<code>{pairing.shown}</code>"),
        ("Calls itself", escape(pairing.label)),
        ("Asks from", escape(pairing.address)),
        ("Asked", f"{ago_s} s ago, at {at:%H:%M:%S} UTC"),
    )
    listed = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)
    form = (
        '<form method="post" action="/login/pair">'
        f'<input type="hidden" name="csrf" value="{escape(token)}">'
        f'<input type="hidden" name="code" value="{pairing.shown}">'
        '<button name="answer" value="confirm">Confirm</button> '
        '<button name="answer" value="refuse">Refuse</button></form>'
    )
    said = (
        f"<p>A command line asks to act as <strong>{escape(user)}</strong>.</p><dl>{listed}</dl>"
        "<p>Confirm only if you have just run <code>ganglion login</code> yourself and it shows"
        f" this code. It can then do all that you may do, for {_days(pairing.days)}; see"
        " <code>ganglion token list</code>.</p>"
    )
    return page("Sign in a command line", said + form)


def decided(title: str, text: str) -> HTMLResponse:
    """The page after a user has decided about a command line."""
    return page(title, f'<p>{escape(text)}</p><p><a href="/account">Account</a></p>')


def _days(count: int) -> str:
    return f"{count} day" + "s" * (count != 1)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
