"""Whatever is done to a bundle, the answer is a refusal or the same runs; never another exception."""

import json
from copy import deepcopy

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mobench.store.validation import shown
from mobench.submissions import BundleError, findings, parse_bundle
from mobench.submissions.accepted import is_plain
from tests.submissions.tampering import in_order, opened, renamed, sealed

few = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

ODD = [
    None, True, -1, 0, 2**60, 1e149, -1e150, "", "x", "<script>", "\u202e", "\x00", "../../x", "9" * 2000, [], {}, [[]],
    {"": 0}, {"mean": 1}, ["x"] * 300, "0" * 64, "pcd", "pcd@1", [0], 0.5, "2026-01-31T12:00:00Z",
]  # fmt: skip


def parsed(content):
    try:
        return parse_bundle("changed.jsonl.gz", content)
    except BundleError as error:
        assert is_plain(str(error)) and len(str(error)) < 500
        return None


@few
@given(data=st.data())
def test_changed_bytes_are_refused_or_harmless(content, bundle, data):
    changed = bytearray(content)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(changed) - 1))
        action = data.draw(st.sampled_from(["set", "delete", "insert", "cut"]))
        if action == "set":
            changed[place] = data.draw(st.integers(0, 255))
        elif action == "delete":
            del changed[place]
        elif action == "insert":
            changed.insert(place, data.draw(st.integers(0, 255)))
        elif place:
            del changed[place:]
    found = parsed(bytes(changed))
    assert found is None or found.records == bundle.records


def paths(value, here=()):
    """Return the way to every value inside a JSON value."""
    yield here
    if isinstance(value, dict):
        for key in value:
            yield from paths(value[key], (*here, key))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from paths(value[index], (*here, index))


def mutate(data, whole):
    """Replace, remove, rename or add something anywhere."""
    path = data.draw(st.sampled_from([path for path in paths(whole) if path]))
    parent = whole
    for key in path[:-1]:
        parent = parent[key]
    action = data.draw(st.sampled_from(["replace", "remove", "add"]))
    if action == "remove":
        del parent[path[-1]]
    elif action == "add" and isinstance(parent, dict):
        parent[data.draw(st.sampled_from(["x", "<b>", "", "\u202e", "accuracy", "seconds"]))] = data.draw(odd())
    elif action == "add":
        parent.insert(path[-1], deepcopy(parent[path[-1]]))
    else:
        parent[path[-1]] = data.draw(odd())


def odd():
    return (
        st.sampled_from(ODD).map(deepcopy)
        | st.floats(-1e150, 1e150)
        | st.integers(-(2**53), 2**53)
        | st.text(max_size=5)
    )


@few
@given(data=st.data())
def test_a_changed_run_with_fitting_checksums_never_breaks_the_checks(content, data):
    header, runs = opened(content)
    number = data.draw(st.integers(0, len(runs) - 1))
    for _ in range(data.draw(st.integers(1, 3))):
        mutate(data, runs[number])
    if data.draw(st.booleans()) and "spec" in runs[number]:
        runs[number] = renamed(runs[number])
        runs = in_order(runs)
    found = parsed(sealed(header, runs))
    if found is not None:
        assert all(is_plain(text) for text in findings(found))


@few
@given(data=st.data())
def test_a_changed_header_with_fitting_checksums_never_breaks_the_checks(content, data):
    header, runs = opened(content)
    for _ in range(data.draw(st.integers(1, 3))):
        mutate(data, header)
    found = parsed(sealed(header, runs))
    if found is not None:
        assert all(is_plain(text) for text in findings(found))
        assert is_plain(found.by + found.contact + found.notes)


@few
@given(data=st.data())
def test_a_changed_metric_never_passes_without_new_checksums(content, data):
    from mobench.submissions.bundle_file import pack

    from .tampering import spell

    header, runs = opened(content)
    run = data.draw(st.sampled_from([run for run in runs if run["outcome"]["metrics"]]))
    name = data.draw(st.sampled_from(sorted(run["outcome"]["metrics"])))
    value = data.draw(st.floats(-1e9, 1e9))
    same = json.dumps(value) == json.dumps(run["outcome"]["metrics"][name])
    run["outcome"]["metrics"][name] = value
    found = parsed(pack(b"".join(spell(item) + b"\n" for item in [header, *runs])))
    assert (found is not None) == same


@given(st.text())
def test_shown_text_is_plain_ascii(text):
    assert shown(text).replace("…", "").isascii() and is_plain(shown(text)) and len(shown(text)) <= 60
