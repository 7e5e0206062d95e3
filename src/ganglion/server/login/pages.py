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


def account(
    user: str, groups: tuple[str, ...], token: str, follow: str = "", *, local: bool = False
) -> HTMLResponse:
    """The page of a user who is signed in.

    Args:
        user: name.
        groups: names.
        token: shows that a form was on a page of ours.
        follow: path that the browser goes on to; empty = it stays.
        local: whether the user has a password here.
    """
    of = f" Groups: {escape(', '.join(groups))}." if groups else ""
    link = f'<p><a href="{escape(follow)}">Go on</a></p>' if follow else ""
    form = (
        '<form method="post" action="/logout">'
        f'<input type="hidden" name="csrf" value="{escape(token)}">'
        "<button>Sign out</button></form>"
    )
    said = f"<p>You are signed in as <strong>{escape(user)}</strong>.{of}</p>{link}"
    said += '<p><a href="/login/pair">Sign in a command line</a></p>'
    said += '<p><a href="/account/password">Change your password</a></p>' if local else ""
    said += form
    return page("Signed in", said, follow=follow)


def sign_in_first(follow: str) -> HTMLResponse:
    """The page of a browser without a session, which goes on to sign in.

    Args:
        follow: path where it does.
    """
    link = f'<p><a href="{escape(follow)}">Sign in</a></p>'
    return page("Not signed in", link, 401, follow=follow)


def ask_password(state: str, status: int = 200, trouble: str = "") -> HTMLResponse:
    """The page where a local user signs in.

    Args:
        state: shows that a form was on a page that was given to this browser.
        status: of HTTP.
        trouble: what was wrong before; empty = nothing.
    """
    form = (
        f'<form method="post" action="/login">{_hidden("state", state)}'
        '<p><label for="user">Name</label><br><input id="user" name="user" required autofocus'
        ' autocomplete="username" maxlength="100" spellcheck="false" autocapitalize="none"></p>'
        f"{_password('password', 'Password', 'current-password')}<p><button>Sign in</button></p>"
        "</form>"
    )
    return page("Sign in", _alert(trouble) + form, status)


def ask_new_password(user: str, token: str, status: int = 200, trouble: str = "") -> HTMLResponse:
    """The page where a local user changes its password.

    Args:
        user: name.
        token: shows that a form was on a page of ours.
        status: of HTTP.
        trouble: what was wrong before; empty = nothing.
    """
    form = (
        f'<form method="post" action="/account/password">{_hidden("csrf", token)}'
        f'<input hidden autocomplete="username" name="user" value="{escape(user)}">'
        f"{_password('current', 'Password so far', 'current-password')}{_NEW_PASSWORD}"
        "<p><button>Change</button></p></form>"
    )
    return page("Change your password", _alert(trouble) + form, status)


def ask_first_admin(code: str, status: int = 200, trouble: str = "") -> HTMLResponse:
    """The page where the first admin says name and password.

    Args:
        code: of the link.
        status: of HTTP.
        trouble: what was wrong before; empty = nothing.
    """
    form = (
        f'<form method="post" action="/login/bootstrap">{_hidden("code", code)}'
        '<p><label for="user">Your name here</label><br><input id="user" name="user" required'
        ' autofocus autocomplete="username" maxlength="100" spellcheck="false"'
        f' autocapitalize="none"></p>{_NEW_PASSWORD}<p><button>Become admin</button></p></form>'
    )
    return page("The first admin", _alert(trouble) + form, status)


def ask_admin(code: str, user: str, token: str) -> HTMLResponse:
    """The page where a user who is signed in becomes the first admin.

    Args:
        code: of the link.
        user: name.
        token: shows that a form was on a page of ours.
    """
    form = (
        f'<form method="post" action="/login/bootstrap">{_hidden("csrf", token)}'
        f"{_hidden('code', code)}<p><button>Become admin</button></p></form>"
    )
    said = f"<p>You are signed in as <strong>{escape(user)}</strong>.</p>"
    return page("The first admin", said + form)


def ask_code(status: int = 200, trouble: str = "", wait_s: int = 0) -> HTMLResponse:
    """The page where a user types the code that a command line shows.

    Args:
        status: of HTTP.
        trouble: what was wrong with the one before; empty = nothing.
        wait_s: when to try again; 0 = it is not said.
    """
    form = (
        '<form method="get" action="/login/pair">'
        '<p><label for="code">Code that <code>ganglion login</code> shows</label></p>'
        '<p><input id="code" name="code" required autofocus autocomplete="off" maxlength="20"'
        ' spellcheck="false" autocapitalize="characters"> <button>Go on</button></p></form>'
    )
    return page("Sign in a command line", _alert(trouble) + form, status, wait_s=wait_s)


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


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{name}" value="{escape(value)}">'


def _password(name: str, label: str, kind: str) -> str:
    return (
        f'<p><label for="{name}">{label}</label><br><input id="{name}" name="{name}"'
        f' type="password" required autocomplete="{kind}" maxlength="200"></p>'
    )


_NEW_PASSWORD = _password(
    "password", "New password: 15 characters or more", "new-password"
) + _password("again", "The same again", "new-password")


def _alert(trouble: str) -> str:
    return f'<p role="alert">{escape(_sentence(trouble))}</p>' if trouble else ""


def _days(count: int) -> str:
    return f"{count} day" + "s" * (count != 1)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
