/* The picture of the plane: half-planes of descent, the two gradients with their tips, and a method's arrow each. */
(function () {
  "use strict";

  const { pcdThreshold } = window.mobenchDirections;
  const { ENTRIES, element, markerShape, words, length, scaled } = window.mobenchMarks;

  const UNIT = 100; // drawing units in one unit of length
  const HALF = 300; // half the side of the picture
  const EDGE = HALF - 16; // where arrows that leave the picture end
  const EQUAL_LENGTH = 1.5;

  const onPaper = (vector) => [vector[0] * UNIT, -vector[1] * UNIT];
  const ray = ({ x, y }, attributes) => element("line", { x1: 0, y1: 0, x2: x, y2: y, ...attributes });

  /** Return where an arrow ends in the picture, and whether it was cut at the edge. */
  function tipOf(vector) {
    const [x, y] = onPaper(vector);
    const reach = Math.max(Math.abs(x), Math.abs(y));
    return reach > EDGE ? { x: (x * EDGE) / reach, y: (y * EDGE) / reach, cut: true } : { x, y, cut: false };
  }

  /** Shade {d : g·d > 0}, a half-plane whose border runs through the origin. */
  function halfPlane(g) {
    const size = length(g);
    if (size === 0) return [];
    const [nx, ny] = onPaper(scaled(g, 10 / size));
    const corners = [[-ny, nx], [ny, -nx], [ny + nx, -nx + ny], [-ny + nx, nx + ny]];
    return [
      element("polygon", { class: "half", points: corners.map((corner) => corner.join(",")).join(" ") }),
      element("line", { class: "border", x1: -ny, y1: nx, x2: ny, y2: -nx }),
    ];
  }

  /** Return what three methods are made from: the hull, the ball, the constraint's border. */
  function constructions(state) {
    const [g1, g2] = state.gradients;
    const shapes = [];
    const add = (key, tag, attributes) => {
      const { look } = ENTRIES.find((entry) => entry.key === key);
      if (state.visible.has(key)) shapes.push(element(tag, { class: `construction ${look}`, ...attributes }));
    };
    const line = ([x1, y1], [x2, y2]) => ({ x1, y1, x2, y2 });
    if (state.settings.mgda.normalization === "none") add("mgda", "line", line(onPaper(g1), onPaper(g2)));
    const mean = [(g1[0] + g2[0]) / 2, (g1[1] + g2[1]) / 2];
    const [cx, cy] = onPaper(mean);
    add("cagrad", "circle", { cx, cy, r: state.settings.cagrad.c * length(mean) * UNIT });
    const size = length(g2);
    if (size > 0) {
      const foot = scaled(g2, pcdThreshold(g1, g2, state.settings.pcd));
      const along = [(-10 * g2[1]) / size, (10 * g2[0]) / size];
      const end = (sign) => onPaper([foot[0] + sign * along[0], foot[1] + sign * along[1]]);
      add("pcd", "line", line(end(-1), end(1)));
    }
    return shapes;
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

    for (let at = -2; at <= 2; at += 1) {
      const kind = at === 0 ? "axis" : "grid";
      layers.still.append(
        element("line", { class: kind, x1: at * UNIT, x2: at * UNIT, y1: -HALF, y2: HALF }),
        element("line", { class: kind, y1: at * UNIT, y2: at * UNIT, x1: -HALF, x2: HALF }),
      );
      if (at > 0) layers.still.append(element("text", { class: "tick", x: at * UNIT + 4, y: 19 }, String(at)));
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
        const outward = (cut ? -42 : 36) / (Math.hypot(x, y) || 1);
        line.setAttribute("x2", x);
        line.setAttribute("y2", y);
        tip.setAttribute("transform", `translate(${x} ${y})`);
        label.setAttribute("x", Math.max(-EDGE, Math.min(EDGE, x + outward * x + (cut ? outward * y * 0.6 : 0))));
        label.setAttribute("y", Math.max(-EDGE, Math.min(EDGE, y + outward * y - (cut ? outward * x * 0.6 : 0))) + 9);
        const degrees = Math.round((Math.atan2(g[1], g[0]) * 180) / Math.PI);
        tip.setAttribute("aria-valuenow", degrees);
        const place = `${words(g[0])}, ${words(g[1])}`;
        tip.setAttribute("aria-valuetext", `${place}; length ${words(length(g))}, ${degrees} degrees`);
      });
    }

    function drawArrows(state, found) {
      const drawn = found
        .filter(({ entry }) => state.visible.has(entry.key))
        .map((one) => ({ ...one, tip: tipOf(shown(one.d, state)) }));
      drawn.sort((a, b) => b.length - a.length); // shorter arrows on top of longer ones of the same direction
      const lines = [];
      const markers = [];
      const places = [];
      for (const { entry, tip } of drawn) {
        const fade = state.pointed && state.pointed !== entry.key ? " faded" : "";
        if (state.before) {
          const old = tipOf(shown(state.before.get(entry.key), state));
          lines.push(ray(old, { class: `ghost ${entry.look}${fade}` }));
        }
        lines.push(ray(tip, { class: `arrow ${entry.look}${fade}`, "data-arrow": entry.key }));
        let place = places.find((other) => Math.hypot(other.x - tip.x, other.y - tip.y) < 13);
        if (!place) places.push((place = { x: tip.x, y: tip.y, members: [] }));
        place.members.push({ entry, tip, fade });
      }
      for (const { x, y, members } of places) {
        const away = Math.hypot(x, y);
        const [ax, ay] = away > 1 ? [-y / away, x / away] : [1, 0];
        members.sort((a, b) => ENTRIES.indexOf(a.entry) - ENTRIES.indexOf(b.entry));
        members.forEach(({ entry, tip, fade }, i) => {
          const shift = (i - (members.length - 1) / 2) * 21;
          const shape = markerShape(entry, x + shift * ax, y + shift * ay, 9, tip.cut);
          shape.setAttribute("class", shape.getAttribute("class") + fade);
          markers.push(shape);
        });
      }
      layers.arrows.replaceChildren(...(state.constructions ? constructions(state) : []), ...lines, ...markers);
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
        const inside = (value) => Math.max(-EDGE, Math.min(EDGE, value)) / UNIT;
        return [inside(at.x), -inside(at.y)];
      },
    };
  }

  window.mobenchPicture = picture;
})();
