"""A site on this machine: plain files on the loopback interface, with the headers a web server should send."""

from __future__ import annotations

import os
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from mobench.errors import UserError

from .output import MARKER
from .pages import POLICY

HEADERS = {
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".svg": "image/svg+xml",
    ".parquet": "application/vnd.apache.parquet",
}


class Handler(SimpleHTTPRequestHandler):
    """Serves files; a folder without an index is not listed."""

    def guess_type(self, path: str | os.PathLike[str]) -> str:
        """Return the type of a file; the system's own table may lack some."""
        return TYPES.get(Path(path).suffix) or super().guess_type(path)

    def end_headers(self) -> None:
        """Add the headers to every answer."""
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def list_directory(self, path: str | object) -> None:
        """Refuse to list a folder."""
        self.send_error(404, "no such page")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing about every request."""


def serve(out: Path, port: int) -> int:
    """Serve the site until it is interrupted."""
    if not (out / MARKER).is_file():
        raise UserError(f"out={out} holds no site; `mobench leaderboard build out={out}` makes one")
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(Handler, directory=str(out)))
    except OSError as error:
        raise UserError(f"port={port} cannot be used: {error.strerror}; port=0 takes any free one") from None
    with server:
        print(f"http://127.0.0.1:{server.server_address[1]}/ shows {out}; Ctrl-C ends it", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0
