"""Who may talk to the server: right Host, right Origin, right token; and what its pages may do."""

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# Styles are free, as Plotly writes its own; they cannot load anything. Scripts are files of this server.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data: blob:; frame-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
# A report is a file that somebody may have changed: it has its own origin, and can ask for nothing.
# Its own policy, in the page, allows only the scripts that it was written with.
POLICY_OF_REPORTS = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
CHANGING = ("POST", "PUT", "DELETE", "PATCH")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass
class Guard:
    """Refuses every request that does not come from a page of this server with its token.

    Attributes
    ----------
    app : callable
        The application behind it.
    hosts : tuple of str
        Names under which the server may be asked for, with their port.
    token : str
        The secret in the address that the server prints.
    """

    app: Application
    hosts: tuple[str, ...]
    token: str = field(repr=False)

    @property
    def cookie(self) -> str:
        """The name of the cookie; servers on other ports of this machine have their own."""
        return f"ngmca-{self.hosts[0].rpartition(':')[2]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, _with_policy(send))
            return
        await self.app(scope, receive, _with_policy(send))

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is not passed on."""
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self.hosts:
            return PlainTextResponse("This server has another name.", 421)
        if scope["method"] in CHANGING and not self._own_origin(headers):
            return PlainTextResponse("Only pages of this server may change anything.", 403)
        if self._same(_cookie(headers, self.cookie)):
            return self._without_token(scope)
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["method"] == "GET" and self._same(given):
            answer = self._without_token(scope)
            assert answer is not None
            answer.set_cookie(self.cookie, self.token, httponly=True, samesite="strict", path="/")
            return answer
        return PlainTextResponse(
            "The token is missing: open the address that `ngmca app` has printed, with its token.", 401
        )

    def _own_origin(self, headers: Headers) -> bool:
        """Whether a page of this server sends a request; browsers always say so with these methods."""
        origin = headers.get("origin", "")
        return origin.partition("://")[2] in self.hosts and origin.startswith(("http://", "https://"))

    def _same(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.token.encode())

    def _without_token(self, scope: Scope) -> Response | None:
        """Return the way to the same address without the token, which would stay in the history."""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if "token" not in query:
            return None
        rest = urlencode({key: value for key, value in query.items() if key != "token"}, doseq=True)
        path = "/" + scope["path"].lstrip("/")  # "//name" would be another server
        return RedirectResponse(path + (f"?{rest}" if rest else ""), 303)


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found else ""


def _with_policy(send: Send) -> Send:
    """Return `send` with the headers that every answer has."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.setdefault("Content-Security-Policy", POLICY)
            headers["X-Content-Type-Options"] = "nosniff"
            headers["Referrer-Policy"] = "same-origin"  # without it browsers hide the Origin
            headers["Cross-Origin-Opener-Policy"] = "same-origin"
            headers["Cross-Origin-Resource-Policy"] = "same-origin"
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return sending
