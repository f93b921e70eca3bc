"""Hostile bundles: each is refused with one sentence that names the bundle, the entry and the reason."""

import gzip
import os
import tracemalloc
import zlib
from copy import deepcopy

import pytest

from mobench.errors import UserError
from mobench.submissions import BundleError, find_bundles, limits, parse_bundle, read_bundle
from mobench.submissions.accepted import is_plain
from mobench.submissions.bundle_file import pack
from tests.submissions.tampering import in_order, opened, renamed, sealed, spell


def refused(content, *words):
    with pytest.raises(BundleError) as caught:
        parse_bundle("evil.jsonl.gz", content)
    message = str(caught.value)
    assert message.startswith("evil.jsonl.gz: ")
    assert is_plain(message)
    for word in words:
        assert word in message, message
    return message


def change(path, value):
    """Return a function that sets a field deep inside a run or header."""

    def apply(data):
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return apply


RUNS = {
    "html in a metric's name": (change(["outcome", "metrics", "<img src=x>"], 1.0), "metric's name"),
    "a metric that hides a column": (change(["outcome", "metrics", "status"], 1.0), "may not be called"),
    "a metric that hides a diagnostic": (change(["outcome", "metrics", "diagnostic/active"], 1.0), "may not be called"),
    "a metric as timing": (change(["outcome", "timings", "accuracy@90"], 99.0), "timing's name"),
    "a metric as text": (change(["outcome", "metrics", "x"], "1.0"), "finite number"),
    "a metric as truth": (change(["outcome", "metrics", "x"], True), "finite number"),
    "a metric as null": (change(["outcome", "metrics", "x"], None), "finite number"),
    "a huge metric": (change(["outcome", "metrics", "x"], 1e200), "1e+150 or less"),
    "a huge whole number": (
        change(["outcome", "backward_passes"], 10**17),
        "backward_passes is 100000000000000000, not",
    ),
    "negative passes": (change(["outcome", "backward_passes"], -1), "backward_passes"),
    "a negative time": (change(["outcome", "timings", "seconds"], -1.0), "0 or more"),
    "a status of its own": (change(["outcome", "status"], "best"), "'done' or 'failed'"),
    "done with an error": (change(["outcome", "error"], "x"), "a finished run, with metrics and no error"),
    "no metrics at all": (change(["outcome", "metrics"], {}), "a finished run, with metrics"),
    "an unknown field": (change(["outcome", "pickle"], "gANL"), "pickle is not a known field"),
    "metrics as list": (change(["outcome", "metrics"], []), "not an object"),
    "an unknown curve": (
        change(["outcome", "history"], {"step": [0], "momenta": [[1.0]]}),
        "momenta is not a known field",
    ),
    "a curve of references": (
        change(["outcome", "history"], {"step": [0], "weights": [[1.0]]}),
        "a curve that this bundle does not keep",
    ),
    "uneven curves": (change(["outcome", "history"], {"step": [0, 1], "point": [[1.0]]}), "length"),
    "text in a curve": (
        change(["outcome", "history"], {"step": [0], "point": [["x"]]}),
        "point[0][0] is 'x', not a finite number",
    ),
    "a diagnostic as number": (change(["outcome", "diagnostics", "active"], 1.0), "not an object"),
    "an environment that is not there": (change(["environment"], 7), "environment"),
    "a suite that is not there": (change(["suites"], [9]), "suites"),
    "no suite": (change(["suites"], []), "suites has 0 entries"),
    "steps without a curve": (change(["outcome", "history"], {"step": [0]}), "steps without curves"),
    "a step that is no whole number": (change(["outcome", "history"], {"step": [0.0], "point": [None]}), "step[0]"),
    "a point with four numbers": (
        change(["outcome", "history"], {"step": [0], "point": [[0.0] * 4]}),
        "the limit is 3",
    ),
    "half a diagnostic": (change(["outcome", "diagnostics", "active"], {"mean": 1.0}), "has 1 entries"),
    "no seconds": (change(["outcome", "timings"], {"steps": 1.0}), "has no seconds"),
    "a time in other digits": (change(["started"], "٢٠٢٦-01-31T12:00:00Z"), "a time in UTC"),
    "a whole number as metric": (change(["outcome", "metrics", "x"], 1), "canonical"),
    "a missing null": (lambda run: run["memory"].pop("device_bytes"), "canonical"),
    "a suite twice": (change(["suites"], [0, 0]), "repetition"),
    "a false id": (change(["id"], "0" * 64), "is not that of its spec"),
    "an id of another type": (change(["id"], {"a": []}), "id is an object, not a text"),
    "a time with markup": (change(["started"], "<b>now</b>"), "a time in UTC"),
    "deep nesting": (change(["memory"], eval("[" * 40 + "]" * 40)), "memory is a list, not an object"),
    "memory without a field": (change(["memory"], {"runs": 1}), "is missing"),
}
SPECS = {
    "an upper-case method": (change(["method"], "Unit-Sum@1"), "Unit-Sum@1 is not in the header"),
    "a method with markup": (change(["method"], "<b>x\x1b</b>@1"), "<b>x\\x1b</b>@1 is not in the header"),
    "a method with a path": (change(["method"], "../../etc@1"), "not in the header"),
    "a method of another header": (change(["method"], "other@1"), "not in the header"),
    "another source": (change(["sources"], {"method": "0" * 64}), "its sources are not those"),
    "a problem's source": (change(["sources"], {"problem": "0" * 64}), "its sources are not those"),
    "an unknown problem": (change(["problem"], "easy@1"), "does not ship"),
    "a negative seed": (change(["seed"], -1), "seed"),
    "a seed as text": (change(["seed"], "0"), "seed"),
    "an override in a setting": (change(["problem_settings", "start"], "up\u202eper"), "invisible"),
    "a newline in a setting": (change(["method_settings", "note"], "a\nb"), "control"),
    "a nested setting": (change(["method_settings", "note"], {"a": 1}), "note is an object"),
    "a setting's name with markup": (change(["method_settings", "<b>"], 1.0), "setting's name"),
    "a setting of the problem as the method's": (change(["method_settings", "problem.k"], 2), "setting's name"),
    "another format": (change(["format"], 2), "format"),
}
HEADERS = {
    "another kind": (change(["kind"], "zip"), "kind"),
    "a later schema": (change(["schema"], 2), "schema"),
    "an empty name": (change(["by"], "  "), "by is empty"),
    "a long name": (change(["by"], "x" * 101), "101 characters"),
    "a control character": (change(["by"], "Ada\x1b[2J"), "control"),
    "a bidi override": (change(["notes"], "a\u202eb"), "invisible"),
    "a zero-width space": (change(["contact"], "a\u200bb"), "invisible"),
    "a name as list": (change(["by"], ["Ada"]), "not a text"),
    "no suite": (change(["suites"], []), "suite"),
    "a suite's name with a path": (change(["suites", 0, "suite"], "../plane"), "not the name of a suite"),
    "a profile's name with markup": (change(["suites", 0, "profile"], "<p>"), "profile is '<p>', not the name"),
    "an override in the definition": (change(["suites", 0, "definition", "\u202e"], 1), "invisible"),
    "a deep definition": (change(["suites", 0, "definition", "x"], eval("[" * 40 + "]" * 40)), "nested deeper"),
    "a huge number in the definition": (change(["suites", 0, "definition", "x"], 2**60), "within"),
    "a long text about the hardware": (change(["environments", 0, "hardware", "cpu"], "x" * 201), "201 characters"),
    "more entries than allowed": (change(["sources"], {str(i): 1 for i in range(70)}), "70 entries; the limit is 64"),
    "a configuration twice": (change(["suites", 0, "sweeps", "unit-sum"], [{"a": 1}, {"a": 1}]), "twice"),
    "an empty sweep": (change(["suites", 0, "sweeps", "unit-sum"], []), "sweep"),
    "a shipped name": (change(["methods", 0, "name"], "pcd"), "shipped method pcd"),
    "a shipped name in disguise": (change(["methods", 0, "name"], "p-c-d"), "shipped method pcd"),
    "a shipped method in another version": (
        change(["methods", 0], {"name": "pcd", "version": 99, "source": None}),
        "ships version",
    ),
    "no source and not shipped": (
        change(["methods", 0], {"name": "mine", "version": 1, "source": None}),
        "states no hash",
    ),
    "a method twice": (lambda header: header["methods"].append(header["methods"][0]), "a method twice"),
    "a source with another hash": (change(["sources"], {"0" * 64: "import os"}), "another sha256"),
    "code with an override": (change(["sources"], {"0" * 64: "a\u202eb"}), "invisible"),
    "a version as object": (change(["environments", 0, "versions", "torch"], {}), "not a text"),
    "code as text": (change(["environments", 0, "code"], "abc"), "not an object"),
    "no environment": (change(["environments"], []), "environment"),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_bad_run_is_refused(content, name):
    header, runs = opened(content)
    apply, word = RUNS[name]
    done = next(number for number, run in enumerate(runs) if run["outcome"]["status"] == "done")
    apply(runs[done])
    refused(sealed(header, runs), f"line {done + 2}", word)


@pytest.mark.parametrize("name", SPECS)
def test_a_bad_spec_is_refused_although_its_id_fits(content, name):
    header, runs = opened(content)
    apply, word = SPECS[name]
    apply(runs[0]["spec"])
    refused(sealed(header, in_order([renamed(runs[0]), *runs[1:]])), "line ", word)


@pytest.mark.parametrize("name", HEADERS)
def test_a_bad_header_is_refused(content, name):
    header, runs = opened(content)
    apply, word = HEADERS[name]
    apply(header)
    refused(sealed(header, runs), word)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"1e400",
        b"9" * 5000,
        b"NaN",
        b'{"kind":NaN}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'"\\ud800"',
        b"\xff\xfe",
        b'{"kind":"mobench-bundle","kind":"mobench-bundle"}',
        b'{"kind":"mobench-bundle", "schema":1}',
        b'{"kind":"mobench-bundle","schema":1}',
    ],
    ids=range(15),
)
def test_what_is_no_header_is_refused(text):
    refused(pack(text + b"\n"), "the header (line 1)")


def test_a_number_with_two_spellings_is_refused(content):
    header, runs = opened(content)
    text = gzip.decompress(sealed(header, runs))
    first, second = text.split(b"\n")[:2]
    refused(pack(text.replace(second, second.replace(b'"backward_passes":0', b'"backward_passes":-0'))), "canonical")
    refused(pack(text.replace(first, first.replace(b'"schema":1', b'"schema":1.0'))), "line 1")
    huge = second.replace(b'"backward_passes":0', b'"backward_passes":' + b"1" * 300)
    refused(pack(text.replace(second, huge)), "line 2")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda runs: [runs[0], *runs],
        lambda runs: runs[::-1],
        lambda runs: [*runs[1:], runs[0]],
    ],
    ids=["twice", "reversed", "rotated"],
)
def test_runs_twice_or_out_of_order_are_refused(content, spoil):
    header, runs = opened(content)
    refused(sealed(header, spoil(runs)), "run")


def test_an_altered_metric_is_caught_by_the_checksum(content):
    header, runs = opened(content)
    altered = deepcopy(runs)
    done = next(run for run in altered if run["outcome"]["status"] == "done")
    done["outcome"]["metrics"]["secondary_progress"] += 1e-15
    lines = b"".join(spell(item) + b"\n" for item in [header, *altered])
    refused(pack(lines), "checksum of its runs")


def test_an_altered_header_is_caught_by_its_checksum(content):
    header, runs = opened(content)
    lines = b"".join(spell(item) + b"\n" for item in [{**header, "by": "Eve"}, *runs])
    refused(pack(lines), "its checksum does not fit")


def test_runs_too_few_or_too_many_for_the_header_are_refused(content):
    text = gzip.decompress(content)
    lines = text.splitlines(keepends=True)
    refused(pack(b"".join(lines[:-1])), "14 of the 15 runs")
    refused(pack(text + lines[-1]), "more than the 15 runs")


def test_a_cut_file_a_tail_and_a_zip_are_refused(content):
    refused(content[:-1])
    refused(content[: len(content) // 2])
    refused(content + b"x", "something follows")
    refused(content + content, "something follows")
    refused(b"PK\x03\x04" + content, "does not start like gzip")
    refused(gzip.compress(gzip.decompress(content)), "does not start like gzip")
    refused(b"", "does not start like gzip")
    refused(pack(gzip.decompress(content)[:-1]), "last line is cut")


@pytest.mark.parametrize("line", [b"0" * 2**20, b"\n" * 2**20, b'{"a":1}\n' * 2**17], ids=["zeros", "empty", "objects"])
def test_a_bomb_is_refused_in_bounded_memory(line):
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = b"".join(deflate.compress(line) for _ in range(300)) + deflate.flush()
    bomb = pack(b"")[:10] + body + bytes(8)
    assert len(bomb) < limits.COMPRESSED_BYTES
    tracemalloc.start()
    refused(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 2**20


def test_a_valid_start_does_not_help_a_bomb(content):
    text = gzip.decompress(content)
    refused(pack(text + b"0" * (limits.UNPACKED_BYTES + 1)), "longer than")


def test_a_large_file_is_not_read_whole(tmp_path):
    path = tmp_path / "large.jsonl.gz"
    with path.open("wb") as file:
        file.truncate(50 * 2**30)
    with pytest.raises(BundleError, match="larger than"):
        read_bundle(path)


def test_links_pipes_and_folders_are_not_followed(folder, tmp_path):
    (tmp_path / "link.jsonl.gz").symlink_to(folder / "mine.jsonl.gz")
    os.mkfifo(tmp_path / "pipe.jsonl.gz")
    (tmp_path / "folder.jsonl.gz").mkdir()
    (tmp_path / "README.md").write_text("hello")
    (tmp_path / ".hidden").write_text("hello")
    found = find_bundles(tmp_path)
    assert [path.name for path in found] == ["folder.jsonl.gz", "link.jsonl.gz", "pipe.jsonl.gz"]
    for path in found:
        with pytest.raises(BundleError, match="plain file"):
            read_bundle(path)


def test_a_missing_folder_is_the_users_mistake(tmp_path):
    with pytest.raises(UserError, match="no such folder"):
        find_bundles(tmp_path / "nowhere")
