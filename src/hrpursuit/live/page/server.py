"""The page and the metrics over HTTP: on the loopback address, or elsewhere for those who know the token."""

import asyncio
import errno
import hmac
import ipaddress
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hrpursuit.live.figures import Figures, prometheus
from hrpursuit.live.page.history import History
from hrpursuit.rows.optional import needed

_ASSETS = Path(__file__).parent / "assets"
_FILES = {"page.css": "text/css", "start.js": "text/javascript", "heat.js": "text/javascript",
          "curve.js": "text/javascript", "page.js": "text/javascript"}  # fmt: skip
_COOKIE = "hrpursuit_token"
_MOST_BROWSERS = 32  # that are kept up to date at a time
_BETWEEN_UPDATES = 0.2  # seconds
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_ASK = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Token</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="stylesheet" href="/page.css">
<form method="post" action="/token" class="ask"><label>{text}<input type="password" name="token" autofocus></label>
<button>Show the page</button></form></html>"""


def read_place(text: str) -> tuple[str, int]:
    """An address to listen on: 8080 is on this machine only, 0.0.0.0:8080 on all its networks."""
    host, _, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"expected a port as 8080, or an address and a port as 0.0.0.0:8080; got {text!r}.")
    return host or "127.0.0.1", int(port)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Server:
    """Serves until it is left, as an asynchronous context manager.

    Parameters
    ----------
    place : tuple of str and int
        Host and port; port 0 is any free one.
    figures : sequence of Figures
        What `/metrics` has.
    history : History or None
        What the page shows; None: metrics only.
    token : str or None
        What browsers must know; needed on any other than the loopback address.
    """

    def __init__(
        self,
        place: tuple[str, int],
        figures: Sequence[Figures],
        history: History | None = None,
        token: str | None = None,
    ) -> None:
        self._host, self.port = place
        if not is_loopback(self._host) and not token:
            raise ValueError(
                f"{self._host} can be reached by others: set HRPURSUIT_PAGE_TOKEN to a token that they must know, or "
                "give the port alone to listen on this machine only."
            )
        if token is not None and len(token) < 16:
            raise ValueError("HRPURSUIT_PAGE_TOKEN must have at least 16 characters, as of `openssl rand -hex 16`.")
        self._figures, self._history, self._token = figures, history, token
        self._web = needed("aiohttp.web", "Pages", "live")
        self._runner: Any = None
        self._n_browsers = 0
        self._stopping = asyncio.Event()

    @property
    def address(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self.port}/"

    async def __aenter__(self) -> "Server":
        web = self._web

        @web.middleware
        async def guard(request: Any, handler: Any) -> Any:
            return await self._guard(request, handler)

        app = web.Application(middlewares=[guard], client_max_size=4096)
        app.router.add_get("/metrics", self._metrics)
        if self._history is not None:
            app.router.add_get("/", self._page)
            app.router.add_get("/events", self._events)
            app.router.add_post("/token", self._take_token)
            app.router.add_get("/{name:[a-z]+\\.(?:css|js)}", self._asset)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        try:
            site = web.TCPSite(self._runner, self._host, self.port)
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            is_used = error.errno == errno.EADDRINUSE
            why = "the port is in use" if is_used else os.strerror(error.errno) if error.errno else str(error)
            raise OSError(f"cannot listen on {self._host}:{self.port}: {why}; give another port.") from error
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._stopping.set()
        await self._runner.cleanup()

    async def _guard(self, request: Any, handler: Any) -> Any:
        """Refuse whoever does not know the token, and pages of other sites under a name of theirs."""
        host = request.host.rpartition(":")[0] if request.host.rpartition(":")[2].isdecimal() else request.host
        if is_loopback(self._host) and not is_loopback(host.removeprefix("[").removesuffix("]")):
            return self._text(f"ask for {self.address}\n", 421)
        if self._token is not None and not self._knows(request) and request.path not in ("/token", "/page.css"):
            if request.path == "/":
                return self._html(_ASK.format(text="Token of this page "), 401)
            return self._text("a token is needed: Authorization: Bearer TOKEN\n", 401)
        response = await handler(request)
        if not response.prepared:
            response.headers.update(_HEADERS)
        return response

    def _knows(self, request: Any) -> bool:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ") or request.cookies.get(_COOKIE, "")
        return self._is_token(given)

    def _is_token(self, given: str) -> bool:
        return self._token is not None and hmac.compare_digest(given.encode(), self._token.encode())

    async def _take_token(self, request: Any) -> Any:
        given = str((await request.post()).get("token", "")).strip()
        if not self._is_token(given):
            await asyncio.sleep(0.5)  # so that guessing takes long
            return self._html(_ASK.format(text="This is not the token. Try again "), 401)
        response = self._web.Response(status=303, headers={"Location": "/"})
        response.set_cookie(_COOKIE, given, httponly=True, samesite="Strict")
        return response

    def _html(self, text: str, status: int = 200) -> Any:
        return self._web.Response(text=text, status=status, content_type="text/html", headers=_HEADERS)

    def _text(self, text: str, status: int = 200) -> Any:
        return self._web.Response(text=text, status=status, headers=_HEADERS)

    async def _metrics(self, request: Any) -> Any:
        return self._text(prometheus(self._figures))

    async def _page(self, request: Any) -> Any:
        return self._html((_ASSETS / "page.html").read_text(encoding="utf-8"))

    async def _asset(self, request: Any) -> Any:
        name = request.match_info["name"]
        if name not in _FILES:
            return self._text("there is no such file\n", 404)
        return self._web.Response(text=(_ASSETS / name).read_text(encoding="utf-8"), content_type=_FILES[name])

    async def _events(self, request: Any) -> Any:
        """Server-sent events: all that is shown first, then what is new."""
        if self._n_browsers >= _MOST_BROWSERS:
            return self._text(f"{_MOST_BROWSERS} browsers are shown this already\n", 503)
        response = self._web.StreamResponse(headers={**_HEADERS, "Content-Type": "text/event-stream"})
        await response.prepare(request)
        self._n_browsers += 1
        try:
            await self._keep_up_to_date(response)
        except ConnectionError:
            pass  # the browser is gone
        finally:
            self._n_browsers -= 1
        return response

    async def _keep_up_to_date(self, response: Any) -> None:
        history = self._history
        assert history is not None
        seen = news = history.snapshot()
        kind, quiet = "snapshot", 0.0
        while not self._stopping.is_set():
            if kind == "snapshot" or news["slots"] or news["events"] or quiet >= 1.0:
                text = json.dumps(news, allow_nan=False, separators=(",", ":"))
                await response.write(f"event: {kind}\ndata: {text}\n\n".encode())
                seen, quiet = {**seen, **{name: news[name] for name in ("number", "happening")}}, 0.0
                seen["generation"] = news.get("generation", seen["generation"])
            await asyncio.sleep(_BETWEEN_UPDATES)
            quiet += _BETWEEN_UPDATES
            if history.generation != seen["generation"] or not history.has_since(seen["number"]):
                kind, news = "snapshot", history.snapshot()
            else:
                kind, news = "update", history.update(seen["number"], seen["happening"])
