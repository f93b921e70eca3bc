/* The picture of the plane: half-planes of descent, the two gradients with their tips, and a method's arrow each. */
(function () {
  "use strict";

  const UNIT = 130; // drawing units in one unit of length
  const HALF = 300; // half the side of the picture
  const EDGE = HALF - 16; // where arrows that leave the picture end
  const EQUAL_LENGTH = 1.5;

  const length = (vector) => Math.hypot(vector[0], vector[1]);
  const scaled = (vector, factor) => [vector[0] * factor, vector[1] * factor];
  const onPaper = (vector) => [vector[0] * UNIT, -vector[1] * UNIT];

  /** Return a new SVG element; children may be texts. */
  function element(tag, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  const ray = ({ x, y }, attributes) => element("line", { x1: 0, y1: 0, x2: x, y2: y, ...attributes });

  /** Return where an arrow ends in the picture, and whether it was cut at the edge. */
  function tipOf(vector) {
    const [x, y] = onPaper(vector);
    const reach = Math.max(Math.abs(x), Math.abs(y));
    return reach > EDGE ? { x: (x * EDGE) / reach, y: (y * EDGE) / reach, cut: true } : { x, y, cut: false };
  }

  /** Shade {d : g·d > 0}, a half-plane whose border runs through the origin. */
  function halfPlane(g) {
    const [nx, ny] = onPaper(scaled(g, 10 / length(g)));
    const corners = [[-ny, nx], [ny, -nx], [ny + nx, -nx + ny], [-ny + nx, nx + ny]];
    return [
      element("polygon", { class: "half", points: corners.map((corner) => corner.join(",")).join(" ") }),
      element("line", { class: "border", x1: -ny, y1: nx, x2: ny, y2: -nx }),
    ];
  }

  function hull([g1, g2]) {
    const [[x1, y1], [x2, y2]] = [onPaper(g1), onPaper(g2)];
    return element("line", { class: "hull", x1, y1, x2, y2 });
  }

  const shown = (d, state) => (state.equal && length(d) > 0 ? scaled(d, EQUAL_LENGTH / length(d)) : d);

  /** Put an empty picture in `container`; return its tips, `draw`, and the plane's point under a pointer. */
  function picture(container) {
    const svg = element("svg", { viewBox: `${-HALF} ${-HALF} ${2 * HALF} ${2 * HALF}`, role: "group" });
    svg.setAttribute("aria-label", "Plane of directions with two gradients that can be moved");
    const names = ["still", "halves", "gradients", "arrows", "tips"]; // from back to front
    const layers = Object.fromEntries(names.map((name) => [name, element("g")]));
    svg.append(...Object.values(layers));
    container.append(svg);

    layers.still.append(
      element("line", { class: "axis", x1: 0, x2: 0, y1: -HALF, y2: HALF }),
      element("line", { class: "axis", y1: 0, y2: 0, x1: -HALF, x2: HALF }),
    );
    for (const size of [1, 2]) {
      layers.still.append(
        element("circle", { class: "ring", r: size * UNIT }),
        element("text", { class: "tick", x: size * UNIT + 4, y: 19 }, String(size)),
      );
    }

    const handles = [0, 1].map((index) => {
      const line = element("line", { x1: 0, y1: 0 });
      const label = element("text", { "aria-hidden": "true", "text-anchor": "middle" }, index ? "g₂" : "g₁");
      const tip = element(
        "g",
        { role: "slider", tabindex: "0", "aria-describedby": "directions-help", "data-tip": index + 1 },
        element("circle", { class: "reach", r: 34 }),
        element("circle", { class: "tip", r: 15 }),
      );
      tip.setAttribute("aria-label", `Tip of gradient ${index + 1}`);
      tip.setAttribute("aria-valuemin", "-180");
      tip.setAttribute("aria-valuemax", "180");
      layers.gradients.append(element("g", { class: "gradient" }, line));
      layers.tips.append(element("g", { class: "gradient" }, label, tip));
      return { line, label, tip };
    });

    function drawGradients(state) {
      state.gradients.forEach((g, index) => {
        const { line, label, tip } = handles[index];
        const { x, y, cut } = tipOf(g);
        const outward = (cut ? -42 : 36) / Math.hypot(x, y);
        line.setAttribute("x2", x);
        line.setAttribute("y2", y);
        tip.setAttribute("transform", `translate(${x} ${y})`);
        label.setAttribute("x", Math.max(-EDGE, Math.min(EDGE, x + outward * x + (cut ? outward * y * 0.6 : 0))));
        label.setAttribute("y", Math.max(-EDGE, Math.min(EDGE, y + outward * y - (cut ? outward * x * 0.6 : 0))) + 9);
      });
    }

    function drawArrows(state, found) {
      const drawn = found
        .filter(({ entry, d }) => d && !state.hidden.has(entry.key))
        .map((one) => ({ ...one, tip: tipOf(shown(one.d, state)) }));
      drawn.sort((a, b) => length(b.d) - length(a.d)); // shorter arrows on top of longer ones of the same direction
      const lines = [];
      const markers = [];
      const places = [];
      for (const { entry, tip } of drawn) {
        const fade = state.pointed && state.pointed !== entry.key ? " faded" : "";
        const old = state.before && state.before.get(entry.key);
        if (old) lines.push(ray(tipOf(shown(old, state)), { class: `ghost ${entry.look}${fade}` }));
        lines.push(ray(tip, { class: `arrow ${entry.look}${fade}`, "data-arrow": entry.key }));
        let place = places.find((other) => Math.hypot(other.x - tip.x, other.y - tip.y) < 13);
        if (!place) places.push((place = { x: tip.x, y: tip.y, members: [] }));
        place.members.push({ entry, tip, fade });
      }
      for (const { x, y, members } of places) {
        const away = Math.hypot(x, y);
        const [ax, ay] = away > 1 ? [-y / away, x / away] : [1, 0];
        members.sort((a, b) => a.entry.place - b.entry.place);
        members.forEach(({ entry, tip, fade }, i) => {
          const shift = (i - (members.length - 1) / 2) * 21;
          const shape = element("path", { class: `mark ${tip.cut ? "hollow" : "full"} ${entry.look}${fade}`, d: entry.shape });
          shape.setAttribute("transform", `translate(${x + shift * ax} ${y + shift * ay}) scale(1.9) translate(-5 -5)`);
          shape.setAttribute("vector-effect", "non-scaling-stroke");
          markers.push(shape);
        });
      }
      layers.arrows.replaceChildren(...(state.hull ? [hull(state.gradients)] : []), ...lines, ...markers);
    }

    return {
      tips: handles.map(({ tip }) => tip),
      draw(state, found) {
        layers.halves.replaceChildren(...state.gradients.flatMap(halfPlane));
        drawArrows(state, found);
        drawGradients(state);
      },
      pointUnder(event) {
        const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
        return [at.x / UNIT, -at.y / UNIT];
      },
    };
  }

  window.mobenchPicture = picture;
})();
