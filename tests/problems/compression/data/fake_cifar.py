"""A tiny archive in CIFAR's format, and a loopback server that breaks connections on demand."""

from __future__ import annotations

import hashlib
import io
import pickle
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

from mobench.problems.compression.data.archive import Archive, PublishedFile

FOLDER = "fake-batches"
PACKED = "fake.tar.gz"
PER_FILE = 40
CLASSES = 4


@dataclass(frozen=True)
class Fake:
    """The files of a data set by name, packed and described."""

    files: dict[str, bytes]
    packed: bytes
    archive: Archive

    def place(self, root: Path) -> Path:
        """Write the unpacked files under `root` and return their folder."""
        folder = root / FOLDER
        folder.mkdir(parents=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        return folder


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def make_fake(label_key: str = "labels") -> Fake:
    rng = np.random.default_rng(0)
    files = {
        name: pickle.dumps(
            {
                "data": rng.integers(0, 256, (PER_FILE, 3 * 32 * 32), dtype=np.uint8),
                label_key: [int(label) for label in rng.permutation(PER_FILE) % CLASSES],
            },
            protocol=2,
        )
        for name in ("train_1", "train_2", "test")
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in {**files, "readme.html": b"not needed"}.items():
            member = tarfile.TarInfo(f"{FOLDER}/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    packed = buffer.getvalue()
    described = {name: PublishedFile(name, md5(content)) for name, content in files.items()}
    archive = Archive(
        title="CIFAR10",
        url=f"http://127.0.0.1:9/{PACKED}",  # nothing answers there
        packed=PublishedFile(PACKED, md5(packed)),
        folder=FOLDER,
        train=(described["train_1"], described["train_2"]),
        test=(described["test"],),
    )
    return Fake(files, packed, archive)


@dataclass
class Server:
    """What the server sends and how it misbehaves; `ranges` lists the Range header of each request."""

    content: bytes
    url: str = ""
    cuts: list[int] = field(default_factory=list)
    """Bytes after which each of the next answers breaks off."""
    supports_ranges: bool = True
    status: int = 200
    ranges: list[str | None] = field(default_factory=list)

    @property
    def base(self) -> str:
        return self.url.rpartition("/")[0]


@contextmanager
def serving(content: bytes) -> Iterator[Server]:
    """Serve `content` on the loopback interface under any path."""
    server = Server(content)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            server.ranges.append(asked)
            self.close_connection = True
            if server.status != 200:
                self.send_error(server.status)
                return
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and server.supports_ranges else 0
            total = len(server.content)
            if start >= total:
                self.send_error(416)
                return
            body = server.content[start:]
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body)))
            if start:
                self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
            self.end_headers()
            self.wfile.write(body[: server.cuts.pop(0)] if server.cuts else body)

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.url = f"http://127.0.0.1:{http.server_port}/{PACKED}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
