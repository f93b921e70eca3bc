/* The interactive figure: two gradients to move, knobs to turn, and every method's direction beside them.
 *
 * The methods' weights were computed in Python on a grid of angles and lengths and are looked up here;
 * directions-picture.js draws the plane. Every input changes the one `state` and calls `draw`, which rewrites
 * picture and table from it.
 */
(function () {
  "use strict";

  const root = document.querySelector('[data-directions="root"]');
  if (!root) return;
  const part = (name) => root.querySelector(`[data-directions="${name}"]`);
  const plane = window.mobenchPicture(part("plane"));

  const [DEGREES, PER_DECADE, REACH] = ["degrees", "perDecade", "reach"].map((name) => Number(root.dataset[name]));
  const HALF_TURN = 180 / DEGREES;
  const ZERO = 1e-6; // a direction shorter than this share of its terms has cancelled
  const LEVEL = 1e-5; // a smaller cosine counts as zero
  const KEPT = 0.01; // degrees; a smaller turn cannot be seen

  /** The turns of g₁ and g₂ and the length of g₂, in steps of the grid. */
  const PRESETS = {
    aligned: { turns: [2, 11], size: 1 },
    orthogonal: { turns: [0, 18], size: 0 },
    conflict: { turns: [2, 26], size: 1 },
    equilibrium: { turns: [3, 3 + HALF_TURN], size: 0 },
    longer: { turns: [2, 26], size: REACH },
    shorter: { turns: [2, 26], size: -REACH },
  };

  const state = {
    preset: "conflict",
    turns: [...PRESETS.conflict.turns],
    size: PRESETS.conflict.size,
    gradients: [],
    hidden: new Set(),
    equal: false,
    hull: false,
    before: null, // directions before objective 2 was rescaled, by entry
    pointed: null, // the entry whose row is under the pointer
  };

  const length = (vector) => Math.hypot(vector[0], vector[1]);

  /** Return a table of weights from its bytes in base64. */
  function decoded(text) {
    return new Float32Array(Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)).buffer);
  }

  const ENTRIES = [...root.querySelectorAll("[data-row]")].map((row, place) => {
    const key = row.dataset.row;
    const { values, tables } = window.mobenchData.get(`directions/${key}`);
    const shape = row.querySelector("path").getAttribute("d");
    const label = row.querySelector("label span").textContent;
    return { key, place, row, label, shape, look: row.dataset.look, values, tables: tables.map(decoded), chosen: 0 };
  });

  const FIRST = new Set(ENTRIES.filter(({ row }) => row.querySelector("[data-toggle]").defaultChecked).map(({ key }) => key));

  // ---- what there is to show

  /** Return the weights of an entry, null where the method has no answer. */
  function weightsOf({ tables, chosen }) {
    const turned = Math.abs(state.turns[1] - state.turns[0]) % (2 * HALF_TURN);
    const angle = Math.min(turned, 2 * HALF_TURN - turned);
    const cell = 2 * (angle * (2 * REACH + 1) + REACH + state.size);
    const weights = [tables[chosen][cell], tables[chosen][cell + 1]];
    return weights.every(Number.isFinite) ? weights : null;
  }

  /** Return each entry's weights, direction, length, cosines and turn; a cancelled direction counts as zero. */
  function outcomes() {
    const [g1, g2] = state.gradients;
    return ENTRIES.map((entry) => {
      const weights = weightsOf(entry);
      if (!weights) return { entry, weights: [null, null], d: null, size: null, cosines: [null, null], turned: null, verdict: "no answer" };
      const terms = Math.abs(weights[0]) * length(g1) + Math.abs(weights[1]) * length(g2);
      const sum = [weights[0] * g1[0] + weights[1] * g2[0], weights[0] * g1[1] + weights[1] * g2[1]];
      const d = length(sum) <= ZERO * terms ? [0, 0] : sum;
      const cosines = [cosine(d, g1), cosine(d, g2)];
      const turned = state.before ? angleBetween(state.before.get(entry.key), d) : null;
      return { entry, weights, d, size: length(d), cosines, turned, verdict: verdictOf(d, cosines) };
    });
  }

  /** Return the cosine of the angle between two vectors, null where one is zero. */
  function cosine(u, v) {
    const lengths = length(u) * length(v);
    return lengths > 0 ? Math.max(-1, Math.min(1, (u[0] * v[0] + u[1] * v[1]) / lengths)) : null;
  }

  /** Return the angle in degrees between two vectors, null where one is zero or missing. */
  function angleBetween(u, v) {
    if (!u || !v || !length(u) || !length(v)) return null;
    const turn = Math.atan2(u[0] * v[1] - u[1] * v[0], u[0] * v[0] + u[1] * v[1]);
    return (Math.abs(turn) * 180) / Math.PI;
  }

  function verdictOf(d, cosines) {
    if (length(d) === 0) return "d = 0, stops";
    const named = (chosen) => [0, 1].filter(chosen).map((i) => i + 1).join(" and ");
    const rising = named((i) => cosines[i] < -LEVEL);
    if (rising) return `no, raises ${rising}`;
    const still = named((i) => cosines[i] <= LEVEL);
    return still ? `no, ${still} stays` : "yes";
  }

  /** Return a number with three digits; `full` keeps zeros at the end, for columns. */
  function words(number, full = false) {
    if (number === null) return "–";
    const size = Math.abs(number);
    if (size < 1e-6) return "0";
    const digits = number.toPrecision(3);
    const text = size < 1e-3 || size >= 1e3 ? number.toExponential(1) : full ? digits : String(Number(digits));
    return text.replace(".0e", "e").replace("e+", "e").replace(/-/g, "−");
  }

  // ---- drawing

  function fillTable(found) {
    for (const { entry, weights, size, cosines, verdict, turned } of found) {
      const turn = turned === null ? "–" : turned < KEPT ? "kept" : `${words(turned)}°`;
      const texts = [...[...weights, size, ...cosines].map((number) => words(number, true)), verdict, turn];
      entry.row.querySelectorAll("td").forEach((cell, i) => (cell.textContent = texts[i]));
      entry.row.classList.toggle("off", state.hidden.has(entry.key));
    }
    for (const knob of root.querySelectorAll("[data-knob-of]")) knob.hidden = state.hidden.has(knob.dataset.knobOf);
    part("count").textContent = `${ENTRIES.length - state.hidden.size} of ${ENTRIES.length} methods are drawn.`;
  }

  const degrees = (turn) => {
    const whole = (((turn * DEGREES) % 360) + 360) % 360;
    return whole > 180 ? whole - 360 : whole;
  };

  function draw() {
    state.gradients = state.turns.map((turn, index) => {
      const size = index ? Math.pow(10, state.size / PER_DECADE) : 1;
      const angle = (turn * DEGREES * Math.PI) / 180;
      return [size * Math.cos(angle), size * Math.sin(angle)];
    });
    const found = outcomes();
    plane.draw(state, found);
    plane.tips.forEach((tip, index) => {
      tip.setAttribute("aria-valuenow", degrees(state.turns[index]));
      const size = words(length(state.gradients[index]));
      tip.setAttribute("aria-valuetext", `length ${size}, ${degrees(state.turns[index])} degrees`);
    });
    fillTable(found);
    for (const button of root.querySelectorAll("[data-preset]")) {
      button.setAttribute("aria-pressed", String(button.dataset.preset === state.preset));
    }
    for (const button of root.querySelectorAll("[data-rescale]")) {
      button.disabled = Math.abs(state.size + button.dataset.rescale * PER_DECADE) > REACH;
    }
    return found;
  }

  // ---- saying it in words

  let waiting;
  /** Put a sentence in the live region once the reader pauses, not at every move of the pointer. */
  function announce(sentence) {
    clearTimeout(waiting);
    waiting = setTimeout(() => (part("status").textContent = sentence), 150);
  }

  const shownOf = (found) => found.filter(({ entry }) => !state.hidden.has(entry.key));
  const listed = (found, text = ({ entry }) => entry.label) => found.map(text).join("; ") || "none";

  function summary(all) {
    const found = shownOf(all);
    const angle = Math.abs(degrees(state.turns[1] - state.turns[0]));
    const both = listed(found.filter(({ verdict }) => verdict === "yes"));
    const raising = listed(found.filter(({ verdict }) => verdict.startsWith("no, raises")));
    const place = `g₂ has length ${words(length(state.gradients[1]))} and lies ${angle}° from g₁.`;
    return `${place} Descending on both: ${both}. Raising one: ${raising}.`;
  }

  function turns(all) {
    const found = shownOf(all);
    const moved = found.filter(({ turned }) => turned !== null && turned >= KEPT);
    const kept = found.filter(({ turned }) => turned !== null && turned < KEPT);
    return (
      `Direction kept: ${listed(kept)}. ` +
      `Turned: ${listed(moved, ({ entry, turned }) => `${entry.label} by ${words(turned)}°`)}.`
    );
  }

  /** After any change but a rescaling: forget the comparison, draw, and say what is to be seen. */
  function changed(preset = null) {
    state.preset = preset;
    state.before = null;
    announce(summary(draw()));
  }

  // ---- moving the gradients

  /** Change the length of g₂ by whole steps of the grid, within the grid. */
  function resize(steps) {
    state.size = Math.max(-REACH, Math.min(REACH, Math.round(steps)));
  }

  plane.tips.forEach((tip, index) => {
    tip.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      tip.setPointerCapture(event.pointerId);
      tip.focus({ preventScroll: true });
    });
    // a finger on a tip drags it and does not scroll the page; touch-action does not do this for SVG everywhere
    tip.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    tip.addEventListener("pointermove", (event) => {
      if (!tip.hasPointerCapture(event.pointerId)) return;
      const [x, y] = plane.pointUnder(event);
      state.turns[index] = Math.round((Math.atan2(y, x) * 180) / Math.PI / DEGREES);
      if (index) resize(Math.log10(Math.hypot(x, y) || 1e-9) * PER_DECADE);
      changed();
    });
    tip.addEventListener("keydown", (event) => {
      const [turn, size] = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] || [0, 0];
      if (!turn && !(size && index)) return;
      event.preventDefault();
      state.turns[index] += turn * (event.shiftKey ? 6 : 1);
      if (index) resize(state.size + size * (event.shiftKey ? 4 : 1));
      changed();
    });
  });

  // ---- which methods are drawn, knobs, presets, options

  /** Draw these methods and no others. */
  function show(keys) {
    state.hidden = new Set(ENTRIES.map(({ key }) => key).filter((key) => !keys.has(key)));
    for (const { key, row } of ENTRIES) row.querySelector("[data-toggle]").checked = keys.has(key);
  }

  for (const button of root.querySelectorAll("[data-show]")) {
    button.addEventListener("click", () => {
      const keys = { all: new Set(ENTRIES.map(({ key }) => key)), first: FIRST, none: new Set() }[button.dataset.show];
      show(keys);
      announce(summary(draw()));
    });
  }

  for (const entry of ENTRIES) {
    entry.row.querySelector("[data-toggle]").addEventListener("change", ({ target }) => {
      state.hidden[target.checked ? "delete" : "add"](entry.key);
      draw();
      announce(`${entry.label} is ${target.checked ? "shown" : "hidden"}.`);
    });
    const point = (which) => () => {
      state.pointed = which;
      draw();
    };
    entry.row.addEventListener("pointerenter", point(entry.key));
    entry.row.addEventListener("pointerleave", point(null));
    const knob = root.querySelector(`[data-knob="${entry.key}"]`);
    if (!knob) continue;
    const read = () => {
      entry.chosen = Number(knob.value);
      if (knob.type !== "range") return;
      root.querySelector(`output[for="${knob.id}"]`).textContent = entry.values[entry.chosen];
      knob.setAttribute("aria-valuetext", entry.values[entry.chosen]);
    };
    read();
    knob.addEventListener("input", () => {
      read();
      changed(state.preset);
    });
  }

  for (const button of root.querySelectorAll("[data-preset]")) {
    button.addEventListener("click", () => {
      const { turns: chosen, size } = PRESETS[button.dataset.preset];
      state.turns = [...chosen];
      state.size = size;
      changed(button.dataset.preset);
    });
  }

  for (const button of root.querySelectorAll("[data-rescale]")) {
    button.addEventListener("click", () => {
      const power = Number(button.dataset.rescale);
      state.before = new Map(outcomes().map(({ entry, d }) => [entry.key, d]));
      resize(state.size + power * PER_DECADE);
      state.preset = null;
      announce(`Objective 2 was multiplied by ${words(Math.pow(10, power))}. ${turns(draw())}`);
    });
  }

  for (const box of root.querySelectorAll("[data-option]")) {
    box.addEventListener("change", () => {
      state[box.dataset.option] = box.checked;
      draw();
    });
  }

  show(FIRST); // a browser that comes back to the page may have kept other ticks
  announce(summary(draw()));
})();
