"""LaTeX as MathML that is safe to show: a formula may be a stranger's."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markupsafe import Markup

from mobench.core.about import Formula

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
ELEMENTS = {
    *("math", "mrow", "mi", "mo", "mn", "mtext", "mspace", "mstyle", "mpadded", "mphantom", "mfrac", "msqrt", "mroot"),
    *("msub", "msup", "msubsup", "mover", "munder", "munderover", "mtable", "mtr", "mtd"),
}
ATTRIBUTES = {
    *("accent", "columnalign", "columnspacing", "display", "displaystyle", "fence", "form", "linethickness", "lspace"),
    *("mathvariant", "maxsize", "minsize", "rowspacing", "rspace", "scriptlevel", "separator", "stretchy"),
    *("symmetric", "width"),
}


@dataclass(frozen=True)
class ShownFormula:
    """A formula as a page shows it."""

    says: str
    latex: str
    mathml: Markup | None
    """None where the LaTeX cannot be converted; its source is shown then."""


def shown_formula(formula: Formula) -> ShownFormula:
    """Convert a formula."""
    try:
        mathml = _mathml(formula.latex)
    except Exception:  # noqa: BLE001 - the converter has no common error, and no formula may stop the build
        mathml = None
    return ShownFormula(formula.says, formula.latex, mathml)


def _mathml(latex: str) -> Markup:
    """Return displayed MathML, written out again from its tree: well-formed, without links, scripts or styles."""
    tree = ElementTree.fromstring(convert(latex, display="block"))
    for element in tree.iter():
        if element.tag.removeprefix(f"{{{NAMESPACE}}}") not in ELEMENTS or "\\" in (element.text or ""):
            raise ValueError(element.tag)
        for name in element.attrib.keys() - ATTRIBUTES:
            del element.attrib[name]
        if element.text in ("‖", "|"):  # bars of a norm enclose: no space beside them, and no taller than a letter
            element.attrib.update(stretchy="false", lspace="0", rspace="0")
    ElementTree.register_namespace("", NAMESPACE)
    return Markup(ElementTree.tostring(tree, encoding="unicode"))
