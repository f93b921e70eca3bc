from dataclasses import replace

import pytest

from mobench.reporting.format import file_name, full_text, number, signed, slug, value_text
from mobench.reporting.html import html_table
from mobench.reporting.latex import escape_latex, latex_table
from mobench.scoring.tables import Column, Estimate, Note, Range, Row, Table

ONE = Estimate({0: 1.0, 1: 1.0})
TABLE = Table(
    "mine",
    "τ & 50 % of_it",
    (Column("a", "a|b", direction="max", decimals=1), Column("c", "<c>")),
    (Row("90 %", (ONE, None)), Row("[x]", (2.0, 3))),
    notes=(Note("remark", ("A note.",)),),
    first="",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50 % & #1 of $2_3", r"50 \% \& \#1 of \$2\_3"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("a^b~c", r"a\textasciicircum{}b\textasciitilde{}c"),
        ("‖∇L1‖ ≤ τ", r"$\Vert$$\nabla$L1$\Vert$ $\leq$ $\tau$"),
        ("1 – 2 … 3", r"1 -- 2 \ldots{} 3"),
        ("a\nb", "a b"),
    ],
)
def test_latex_sets_text_as_it_is(text, expected):
    assert escape_latex(text) == expected


def test_an_html_table_escapes_texts_and_has_a_line_under_its_leaders():
    assert html_table(replace(TABLE, leaders=("90 %",))) == (
        '<table><thead><tr><th scope="col"></th><th scope="col">a|b ↑</th><th scope="col">&lt;c&gt;</th></tr></thead>'
        '<tbody><tr class="last-leader"><th scope="row">90 %</th><td>1.0<small>[1.0, 1.0]</small></td><td>–</td></tr>'
        '<tr><th scope="row">[x]</th><td>2.0</td><td>3</td></tr></tbody></table>'
    )


def test_a_latex_table():
    assert latex_table(TABLE) == (
        "\\begin{table}\n  \\centering\\small\n  \\caption{$\\tau$ \\& 50 \\% of\\_it. A note.}\n  \\label{tab:mine}\n"
        "  \\begin{tabular}{lrr}\n    \\toprule\n"
        "     & a\\textbar{}b $\\uparrow$ & \\textless{}c\\textgreater{} \\\\\n    \\midrule\n"
        "    90 \\% & 1.0 [1.0, 1.0] & -- \\\\\n    {[x]} & 2.0 & 3 \\\\\n"
        "    \\bottomrule\n  \\end{tabular}\n\\end{table}\n"
    )


def test_numbers():
    nan = float("nan")
    assert [number(value) for value in (nan, None, 3, 0.12344, 123456.0)] == ["–", "–", "3", "0.1234", "1.23e+05"]
    assert [number(value, 3) for value in (5260.4, 99.96, 123.4)] == ["5260", "100", "123"]
    assert [number(value, decimals=1) for value in (nan, 2.25, 98.0)] == ["–", "2.2", "98.0"]
    assert [signed(value, 2) for value in (nan, 0.25, -0.25)] == ["–", "+0.25", "-0.25"]


def test_values_of_a_column():
    percent, plain = Column("x", "x", unit=0.01, decimals=1), Column("x", "x")
    assert full_text(Estimate({0: 0.98, 1: 0.98}), percent) == "98.0 [98.0, 98.0]"
    assert full_text(Estimate({0: 0.98}, missing=1), percent) == "98.0 (1 of 2 seeds)"
    assert full_text(Estimate({0: 0.1, 1: 0.1, 2: 0.1}, paired=True), percent) == "+10.0 [10.0, 10.0]"
    assert [value_text(value, plain) for value in (Estimate(runs=2), Estimate(), None)] == ["failed", "–", "–"]
    assert [value_text(value, plain) for value in (True, False, 3, "text")] == ["yes", "no", "3", "text"]
    assert [value_text(Range(*ends), plain) for ends in ((1.0, 1.0), (1.0, 2.0, "<="))] == ["1", "≤ 1 … 2"]


def test_file_names_keep_what_tells_numbers_apart():
    names = [
        "quadratic: scale=1e-04",
        "quadratic: scale=1e+04",
        "quadratic: scale=-1",
        "quadratic: scale=1",
        "../../etc: x=1",
    ]
    assert len({slug(name) for name in names}) == len(names)
    assert slug("../../etc/passwd") == "etc-passwd"
    assert slug("compression: network=resnet-34, dataset=cifar-10") == "compression-network=resnet-34-dataset=cifar-10"
    long = [file_name("x" * 100 + end) for end in "ab"]
    assert long[0] != long[1] and max(map(len, long)) < 100
