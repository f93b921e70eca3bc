"""Download of one file over HTTP that survives broken connections and resumes where it stopped."""

from __future__ import annotations

import time
import urllib.request
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from ssl import SSLError
from urllib.error import HTTPError, URLError

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from mobench.errors import UserError

from .archive import checksum

TRIES = 4
"""Attempts in a row that may bring no new byte before the download is given up."""
UNREACHED = 2
"""Attempts after which a server that was never reached is given up: most likely there is no network."""
TIMEOUT = 15.0
"""Seconds without an answer after which a connection counts as broken."""
CHUNK = 1 << 16

_RANGE_NOT_SATISFIABLE = 416
_PARTIAL_CONTENT = 206

_NETWORK_ERRORS = (URLError, HTTPException, ConnectionError, TimeoutError, SSLError)


def download(url: str, target: Path, md5: str, *, pause: float = 1.0) -> None:
    """Fetch `url` to `target`, which appears only when whole and with the right checksum.

    Until then the bytes are kept beside it as `<target>.part`, and a later call goes on from there.
    Bytes with a wrong checksum are set aside as `<target>.corrupt`. `pause` is the time in seconds
    before the first repeated attempt; it doubles with each further one.
    """
    part = target.with_name(target.name + ".part")
    _fetch_all(url, part, pause)
    found = checksum(part)
    if found != md5:
        aside = part.replace(target.with_name(target.name + ".corrupt"))
        raise UserError(
            f"the download of {url} is corrupt: its md5 checksum is {found}, expected {md5}. "
            f"It was set aside as {aside}"
        )
    part.replace(target)


def _fetch_all(url: str, part: Path, pause: float) -> None:
    """Repeat until the file is whole; give up after `TRIES` attempts in a row without progress, or `UNREACHED`."""
    best, failures, reached = _size(part), 0, False
    with _progress_bar() as progress:
        while True:
            try:
                return _fetch_rest(url, part, progress)
            except _NETWORK_ERRORS as error:
                if isinstance(error, HTTPError) and error.code < 500:
                    raise UserError(f"{url} answers {error.code} {error.reason}") from error
                failures = 0 if _size(part) > best else failures + 1
                best = max(best, _size(part))
                reached = reached or best > 0 or not isinstance(error, URLError) or isinstance(error, HTTPError)
                if failures == (TRIES if reached else UNREACHED):
                    raise _given_up(url, part, error) from error
            time.sleep(pause * 2 ** max(failures - 1, 0))


def _fetch_rest(url: str, part: Path, progress: Progress) -> None:
    """Append what is missing to `part`, or write it anew if the server cannot resume."""
    offset = _size(part)
    request = urllib.request.Request(url, headers={"User-Agent": "mobench"})
    if offset:
        request.add_header("Range", f"bytes={offset}-")
    try:
        response: HTTPResponse = urllib.request.urlopen(request, timeout=TIMEOUT)
    except HTTPError as error:
        if offset and error.code == _RANGE_NOT_SATISFIABLE:
            return  # nothing comes after the bytes we have: the checksum decides
        raise
    with response:
        if response.status == _PARTIAL_CONTENT:
            content_range = response.headers.get("Content-Range", "")
            if not content_range.startswith(f"bytes {offset}-"):
                raise HTTPException(f"asked for bytes from {offset}, got '{content_range}'")
        else:
            offset = 0
        length = response.headers.get("Content-Length")
        total = None if length is None else offset + int(length)
        task = progress.add_task(part.stem, total=total, completed=offset)
        with part.open("ab" if offset else "wb") as file:
            while chunk := response.read(CHUNK):
                file.write(chunk)
                progress.advance(task, len(chunk))
        progress.remove_task(task)
    if total is not None and _size(part) < total:
        raise HTTPException(f"the connection broke after {_size(part):,} of {total:,} bytes")


def _given_up(url: str, part: Path, error: Exception) -> UserError:
    reason = error.reason if isinstance(error, URLError) else error
    kept = f"; {_size(part):,} bytes are kept in {part} and the next try goes on from there" if _size(part) else ""
    return UserError(f"cannot download {url}, this machine may be offline: {reason}{kept}")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _progress_bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
