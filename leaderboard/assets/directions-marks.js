/* What the figure of directions is made of: each method's name, colour and marker, elements, numbers in words. */
(function () {
  "use strict";

  /** Markers are those of all plots of the site; `look` is the class that has the method's colour. */
  const ENTRIES = [
    { key: "auxinash", method: "auxinash", label: "AuxiNash", look: "of-auxinash", marker: "X" },
    { key: "cagrad", method: "cagrad", label: "CAGrad", look: "of-cagrad", marker: "v" },
    { key: "famo", method: "famo", label: "FAMO", look: "of-famo", marker: "P" },
    { key: "mgda", method: "mgda", label: "MGDA", look: "of-mgda", marker: "^" },
    { key: "pcd", method: "pcd", label: "PCD", look: "of-pcd", marker: "o" },
    { key: "pcgrad", method: "pcgrad", label: "PCGrad", look: "of-pcgrad", marker: "D" },
    { key: "ws", method: "ws", label: "Weighted sum, convex", look: "of-ws", marker: "s" },
    { key: "ws(form=penalty)", method: "ws", label: "Weighted sum, penalty", look: "of-ws-penalty", marker: "<" },
  ];

  /** Outlines in a box from −1 to 1, named as in matplotlib. */
  const MARKERS = {
    o: "M1 0A1 1 0 1 1 -1 0A1 1 0 1 1 1 0Z",
    s: "M-.85 -.85H.85V.85H-.85Z",
    "^": "M0 -1.1L1 .8H-1Z",
    v: "M0 1.1L1 -.8H-1Z",
    "<": "M-1.1 0L.8 -1V1Z",
    D: "M0 -1.15L1.15 0L0 1.15L-1.15 0Z",
    P: "M-.35 -1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35Z",
    X: "M0 -.5L.55 -1.05L1.05 -.55L.5 0L1.05 .55L.55 1.05L0 .5L-.55 1.05L-1.05 .55L-.5 0L-1.05 -.55L-.55 -1.05Z",
  };

  const SVG = "http://www.w3.org/2000/svg";
  const HTML = new Set(["tr", "th", "td", "label", "input", "span"]);

  /** Return a new element, HTML or SVG by its name; children may be texts. */
  function element(tag, attributes = {}, ...children) {
    const made = HTML.has(tag) ? document.createElement(tag) : document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  /** Return an entry's marker; hollow where the arrow it ends goes on. */
  function markerShape(entry, x, y, size, hollow) {
    return element("path", {
      class: `marker ${hollow ? "hollow" : "full"} ${entry.look}`,
      d: MARKERS[entry.marker],
      transform: `translate(${x} ${y}) scale(${size})`,
      "vector-effect": "non-scaling-stroke",
    });
  }

  /** Return a number with three digits; `full` keeps zeros at the end, for columns. */
  function words(number, full = false) {
    if (number === null) return "–";
    const size = Math.abs(number);
    if (size < 1e-12) return "0";
    const digits = number.toPrecision(3);
    const text = size < 1e-3 || size >= 1e3 ? number.toExponential(1) : full ? digits : String(Number(digits));
    return text.replace(".0e", "e").replace("e+", "e").replace(/-/g, "−");
  }

  const length = (vector) => Math.hypot(vector[0], vector[1]);
  const scaled = (vector, factor) => [vector[0] * factor, vector[1] * factor];

  window.mobenchMarks = { ENTRIES, element, markerShape, words, length, scaled };
})();
