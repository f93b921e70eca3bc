"""The download against a real server on the loopback interface: resume, break, corruption, offline."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from mobench.errors import UserError
from mobench.problems.compression.data import download as module
from mobench.problems.compression.data.download import download
from tests.problems.compression.data.fake_cifar import Server, md5, serving

CONTENT = bytes(range(256)) * 2_000


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(CONTENT) as running:
        yield running


def fetch(server: Server, target: Path) -> None:
    download(server.url, target, md5(CONTENT), pause=0.0)


def test_a_whole_file_arrives_and_leaves_no_part(server: Server, tmp_path: Path) -> None:
    fetch(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert server.ranges == [None]


def test_a_broken_connection_is_resumed_where_it_broke(server: Server, tmp_path: Path) -> None:
    server.cuts = [100_000, 7]
    fetch(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=100000-", "bytes=100007-"]


def test_a_later_call_goes_on_from_the_kept_part(server: Server, tmp_path: Path) -> None:
    server.cuts = [100_000] + [0] * module.TRIES
    with pytest.raises(UserError, match=r"cannot download .*100,000 bytes are kept in .*file\.part"):
        fetch(server, tmp_path / "file")
    assert not (tmp_path / "file").exists()
    assert (tmp_path / "file.part").read_bytes() == CONTENT[:100_000]
    server.ranges.clear()
    fetch(server, tmp_path / "file")
    assert server.ranges == ["bytes=100000-"]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_progress_renews_the_tries(server: Server, tmp_path: Path) -> None:
    server.cuts = [10] * (3 * module.TRIES)
    fetch(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_server_without_ranges_starts_over(server: Server, tmp_path: Path) -> None:
    server.supports_ranges = False
    server.cuts = [100_000]
    fetch(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_part_that_is_already_whole_is_taken(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(CONTENT)
    fetch(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_corrupt_download_is_set_aside_and_the_next_call_starts_afresh(server: Server, tmp_path: Path) -> None:
    wrong = b"x" + CONTENT[1:]
    server.content = wrong
    with pytest.raises(UserError, match=f"corrupt: its md5 checksum is {md5(wrong)}, expected {md5(CONTENT)}"):
        fetch(server, tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file.corrupt"]
    assert (tmp_path / "file.corrupt").read_bytes() == wrong
    server.content = CONTENT
    fetch(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_refused_request_is_not_repeated(server: Server, tmp_path: Path) -> None:
    server.status = 404
    with pytest.raises(UserError, match="answers 404"):
        fetch(server, tmp_path / "file")
    assert len(server.ranges) == 1


def test_a_failing_server_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.status = 503
    with pytest.raises(UserError, match=r"cannot download .*Service Unavailable"):
        fetch(server, tmp_path / "file")
    assert len(server.ranges) == module.TRIES


def test_offline_is_said_plainly(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/file"
        with pytest.raises(UserError, match=r"cannot download .*may be offline.*refused"):
            download(url, tmp_path / "file", md5(CONTENT), pause=0.0)
    assert list(tmp_path.iterdir()) == []
