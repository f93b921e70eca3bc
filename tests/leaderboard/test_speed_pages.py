"""The history of speed on the site, from what asv really published."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mobench.errors import UserError
from mobench.leaderboard.site.speed_page import HEIGHT, MARGIN, sparkline, spelled
from mobench.leaderboard.site.speed_records import read_records
from tests.leaderboard.conftest import RealSite
from tests.leaderboard.speed_history import COMMITS


@pytest.fixture
def history(site: RealSite) -> Path:
    return site.folder.parent / "history" / "html"


def test_every_value_of_asv_is_read(history: Path) -> None:
    (machine,) = read_records(history)
    by_name = {series.name: series for series in machine.series}
    assert [point.value for point in by_name["Layer.track_count(text=plain, k=2)"].points] == [20.0, 40.0, 60.0]
    assert by_name["Layer.track_count(text=plain, k=2)"].unit == "things"
    assert len(by_name) == 4 + 4 + 1, "two benchmarks of four combinations, one of one; one that failed is left out"
    for series in machine.series:
        assert series.layer == "first"
        assert len(series.points) == COMMITS
        assert [point.date for point in series.points] == sorted(point.date for point in series.points)


def test_the_front_page_leads_to_a_page_with_all_records(site: RealSite) -> None:
    assert 'href="speed/index.html"' in (site.folder / "index.html").read_text(encoding="utf-8")
    page = (site.folder / "speed" / "index.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "<b>bold" not in page
    (row,) = re.findall(r"<tr>\s*<th scope=\"row\">Layer.track_count\(text=plain, k=2\).*?</tr>", page, re.DOTALL)
    assert re.findall(r'data-value="([^"]*)"', row) == ["60.0", "1.50", "3.00", "3"]
    assert row.count("<circle") == COMMITS


def test_the_page_shows_the_table_of_peers_and_its_picture(site: RealSite) -> None:
    page = (site.folder / "speed" / "index.html").read_text(encoding="utf-8")
    assert '<th scope="row">&lt;b&gt;network&lt;/b&gt; K=2: 3 ms</th>' in page
    for name in ("peers.svg", "peers.dark.svg"):
        assert f'src="../speed/{name}"' in page
        assert (site.folder / "speed" / name).read_bytes().startswith(b"<?xml")


def test_no_path_and_no_host_of_the_machine_is_published(site: RealSite, history: Path) -> None:
    index = json.loads((history / "index.json").read_text(encoding="utf-8"))
    private = [*index["params"]["python"], *(f"machine-{name}" for name in index["machines"])]
    for file in (site.folder / "speed").iterdir():
        text = file.read_text(encoding="utf-8")
        assert not any(name in text for name in private)


def test_the_file_of_records_holds_what_the_page_shows(site: RealSite) -> None:
    records = json.loads((site.folder / "speed" / "records.json").read_text(encoding="utf-8"))
    (one,) = (record for record in records if record["benchmark"] == "first.peakmem_list")
    assert one["unit"] == "bytes"
    assert len(one["values"]) == len(one["commits"]) == len(one["dates"]) == COMMITS


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "index.json: No such file"),
        ({"index.json": "{"}, "JSONDecodeError"),
        ({"index.json": "[]"}, "holds no records"),
        ({"index.json": "[]", "graphs/cpu-x/a.json": "[]"}, "TypeError"),
        ({"index.json": '{"benchmarks": {}}'}, "holds no records"),
        ({"index.json": '{"benchmarks": {"a": {"name": "a"}}}', "graphs/cpu-x/a.json": "[]"}, "KeyError"),
    ],
)
def test_what_asv_did_not_write_is_refused(tmp_path: Path, files: dict[str, str], reason: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=f"speed=.*{reason}"):
        read_records(tmp_path)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.5e-6, "seconds", "1.5 µs"),
        (0.25, "seconds", "250 ms"),
        (9.9999e-4, "seconds", "1,000 µs"),
        (75.0, "seconds", "75 s"),
        (3e-11, "seconds", "3e-11 seconds"),
        (123_456_789, "bytes", "123 MB"),
        (12, "bytes", "12 bytes"),
        (33_540.4, "images/s", "33,540 images/s"),
        (1.0, "passes per step", "1 passes per step"),
    ],
)
def test_values_are_spelled_in_a_unit_that_suits_them(value: float, unit: str, text: str) -> None:
    assert spelled(value, unit) == text


def test_a_line_goes_from_zero_to_the_highest_and_escapes_its_labels() -> None:
    drawn = sparkline([0.0, 2.0, 1.0], ["a", "<b>", "c"])
    heights = [float(y) for y in re.findall(r'cy="([^"]*)"', drawn)]
    assert heights == [HEIGHT - MARGIN, MARGIN, HEIGHT / 2]
    assert "&lt;b&gt;" in drawn
    assert sparkline([0.0], ["nothing"]).count("<circle") == 1
