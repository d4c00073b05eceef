"""Start the server, say its address, open a browser, and end with Ctrl-C."""

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn

from ngmca.app.guard import LOOPBACK
from ngmca.app.web_application import application
from ngmca.io import ReadError

SESSIONS = "ngmca-sessions"  # in the home of the user, unless another folder is named


def serve(
    target: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    browser: bool = True,
    folder: Path | None = None,
    say: Callable[[str], object] = print,
) -> None:
    """Serve the page until Ctrl-C.

    Parameters
    ----------
    target : Path
        A folder whose files may be opened, or a file in it to open first.
    host, port : str, int
        Where to listen; port 0 takes a free one.
    token : str, optional
        The secret in the address; drawn by default. Beyond this machine it has to be given.
    browser : bool
        Whether to open a browser.
    folder : Path, optional
        Where sessions are kept.
    say : callable
        Prints a line.
    """
    if not target.exists():
        raise ReadError(f"{target} does not exist.")
    if host not in LOOPBACK and token is None:
        raise ReadError(
            f"--host {host} lets other computers in the network reach the page. Whoever knows the token "
            "can then read the files of its folder, and what is sent is not encrypted. If you want "
            "that, give a long --token."
        )
    if token is not None and len(token) < 16:
        raise ReadError("--token must have at least 16 letters: it is the only protection of the page.")
    listening = _listening(host, port)
    port = listening.getsockname()[1]
    token = token or secrets.token_urlsafe(24)
    start, opened = (target, None) if target.is_dir() else (target.parent, target.name)
    folder = folder or Path.home() / SESSIONS
    app = application(start, folder, token, hosts_of(host, port), opened)
    address = f"http://{app.hosts[0]}/?token={token}"
    say(f"files: {start.resolve()}")
    say(f"sessions: {folder.resolve()}")
    say(f"page: {address}")
    say("Ctrl-C ends it. Runs that are at work then stop, and can be continued.")
    if browser:
        threading.Timer(0.5, webbrowser.open, [address]).start()
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
    with suppress(KeyboardInterrupt):  # the server has ended already, and raises it again
        uvicorn.Server(config).run(sockets=[listening])


def hosts_of(host: str, port: int) -> tuple[str, ...]:
    """Return the names under which a server may be asked for."""
    names: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]") if host in LOOPBACK else (host,)
    if host in ("0.0.0.0", "::"):
        names = (socket.gethostname().lower(), *_addresses(), "127.0.0.1", "localhost")
    return tuple(f"{name}:{port}" for name in names)


def _addresses() -> list[str]:
    try:
        return sorted({str(one[4][0]) for one in socket.getaddrinfo(socket.gethostname(), None)})
    except OSError:
        return []


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or raise an error that says why not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        raise ReadError(
            f"--port {port} on {host} cannot be used: {error.strerror}. Choose another."
        ) from error
    found.listen(128)
    return found
