"""Findings: the form of the document, and what the site shows of it."""

from mobench.leaderboard.site.documents import text_of
from mobench.leaderboard.site.findings import DOCUMENT, read_findings
from mobench.planning.suite import load_suite

TEXT = """# What it shows

An *opening* with <b>markup</b>.

## Which method first? A < B

One, by 0.12 [0.10, 0.14]. See [the protocol](protocol.md#rows).

Plot: `escape.standard/gradient-norm`

Repeat: `mobench results suite=escape,plane profile=quick`

## Who else?

Nobody.
"""


def test_a_finding_has_question_answer_plot_and_command():
    opening, (first, second) = read_findings(TEXT)
    assert "<em>opening</em>" in opening and "&lt;b&gt;" in opening
    assert first.question == "Which method first? A < B"
    assert first.href == "findings.html#which-method-first-a--b"
    assert first.plot == "escape.standard/gradient-norm"
    assert first.command == "mobench results suite=escape,plane profile=quick"
    assert "0.12" in first.answer and 'href="protocol.html#rows"' in first.answer
    assert "Plot:" not in first.answer and "Repeat:" not in first.answer
    assert (second.plot, second.command) == ("", "") and "Nobody." in second.answer


def test_the_shipped_findings_have_the_form():
    _, found = read_findings(text_of(DOCUMENT))
    assert found
    for one in found:
        assert one.question.endswith("?"), one.question
        assert one.answer.strip() and one.command.split()[0] in ("mobench", "make", "python"), one.question
        suite, _, plot = one.plot.partition("/")
        if plot:
            listed = load_suite(*suite.split(".")).plots
            assert plot in {entry if isinstance(entry, str) else entry["plot"] for entry in listed}, one.plot
    assert len({one.anchor for one in found}) == len(found)


def test_the_front_page_has_the_first_findings_and_the_page_all(site):
    _, found = read_findings(text_of(DOCUMENT))
    front, page = ((site.folder / name).read_text(encoding="utf-8") for name in ("index.html", "findings.html"))
    for place, one in enumerate(found):
        assert (one.href in front) == (place < 3)
        assert f'id="{one.anchor}"' in page
    assert 'href="findings.html"' in front
