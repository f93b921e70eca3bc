"""A site on this machine: plain files on the loopback interface, with the headers a web server should send."""

from __future__ import annotations

import io
import os
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from mobench.errors import UserError

from .output import MARKER
from .pages import POLICY

PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""For SVG files, which have their styles inside: these, and nothing else."""

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


NAMES = ("127.0.0.1", "localhost")

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".svg": "image/svg+xml",
    ".parquet": "application/vnd.apache.parquet",
}


class Handler(SimpleHTTPRequestHandler):
    """Serves the files of a folder to a browser on this machine.

    A folder without an index is not listed, and a link that leads out of the site is not followed. A request by another
    name than this machine's own is refused: a page elsewhere could have its own name resolved to here.
    """

    def send_head(self) -> io.BytesIO | BinaryIO | None:
        """Refuse what is not for this server or not inside its folder, and send the head of the rest."""
        port = self.connection.getsockname()[1]
        if self.headers.get("Host", "").lower() not in {f"{name}{end}" for name in NAMES for end in _ends(port)}:
            self.send_error(421, "not the name of this server")
            return None
        if "\0" in unquote(self.path):
            self.send_error(400, "no path")
            return None
        try:
            inside = Path(self.translate_path(self.path)).resolve().is_relative_to(Path(self.directory).resolve())
        except OSError:
            inside = False
        if not inside:
            self.send_error(404, "no such page")
            return None
        return super().send_head()

    def guess_type(self, path: str | os.PathLike[str]) -> str:
        """Return the type of a file; the system's own table may lack some."""
        return TYPES.get(Path(path).suffix) or super().guess_type(path)

    def end_headers(self) -> None:
        """Add the headers to every answer."""
        picture = urlsplit(self.path).path.endswith(".svg") if hasattr(self, "path") else False
        self.send_header("Content-Security-Policy", f"{PICTURE_POLICY if picture else POLICY}; frame-ancestors 'none'")
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def list_directory(self, path: str | object) -> None:
        """Refuse to list a folder."""
        self.send_error(404, "no such page")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing about every request."""


def _ends(port: int) -> tuple[str, ...]:
    """Return how a port stands behind a name; the usual one may be left out."""
    return (f":{port}", "") if port == 80 else (f":{port}",)


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
