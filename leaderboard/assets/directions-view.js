/* The interactive figure: two gradients to drag, knobs to turn, and every method's direction beside them.
 *
 * directions.js has the maths, directions-picture.js draws the plane. Here is the one `state`: every input
 * changes it and calls `draw`, which rewrites picture and table from it.
 */
(function () {
  "use strict";

  const { combine, cosine, angleBetween } = window.mobenchDirections;
  const { ENTRIES, element, markerShape, words, length, scaled } = window.mobenchMarks;

  const PRESETS = {
    aligned: [[1.5, 0.3], [0.8, 1.1]],
    orthogonal: [[1.6, 0], [0, 1]],
    conflict: [[1.6, 0.3], [-0.9, 1.1]],
    equilibrium: [[1.3, 0.4], [-1.3, -0.4]],
    longer: [[1.2, 0.3], [-500, 800]],
    vanishing: [[1e-4, 5e-5], [-0.8, 1.2]],
  };

  const ZERO = 1e-9; // a direction shorter than this share of its terms has cancelled
  const KEPT = 0.01; // degrees; a smaller turn cannot be seen
  const LONGEST = 1e9;

  const root = document.querySelector('[data-directions="root"]');
  if (!root) return;
  const part = (name) => root.querySelector(`[data-directions="${name}"]`);
  const plane = window.mobenchPicture(part("plane"));

  const state = {
    gradients: PRESETS.conflict.map((g) => [...g]),
    preset: "conflict",
    losses: [1, 1],
    settings: Object.fromEntries(ENTRIES.map(({ key }) => [key, {}])),
    visible: new Set(ENTRIES.map(({ key }) => key)),
    equal: false,
    constructions: false,
    before: null, // directions before objective 2 was rescaled, by entry
    pointed: null, // the entry whose row is under the pointer
  };
  state.settings["ws(form=penalty)"].form = "penalty";

  // ---- what there is to show

  /** Return each entry's weights, direction, length, cosines and turn; a cancelled direction counts as zero. */
  function outcomes() {
    const [g1, g2] = state.gradients;
    return ENTRIES.map((entry) => {
      const { weights, direction } = combine(entry.method, g1, g2, state.settings[entry.key], state.losses);
      const terms = Math.abs(weights[0]) * length(g1) + Math.abs(weights[1]) * length(g2);
      const d = length(direction) <= ZERO * terms ? [0, 0] : direction;
      const cosines = [cosine(d, g1), cosine(d, g2)];
      const turned = state.before ? angleBetween(state.before.get(entry.key), d) : null;
      return { entry, weights, d, length: length(d), cosines, turned, verdict: verdictOf(d, cosines) };
    });
  }

  function verdictOf(d, cosines) {
    if (length(d) === 0) return "d = 0, stops";
    const rising = [0, 1].filter((i) => cosines[i] !== null && cosines[i] < -ZERO);
    if (rising.length) return `no, raises ${rising.map((i) => i + 1).join(" and ")}`;
    const still = [0, 1].filter((i) => cosines[i] === null || cosines[i] <= ZERO);
    return still.length ? `no, ${still.map((i) => i + 1).join(" and ")} stays` : "yes";
  }

  // ---- the table

  const rows = new Map(
    ENTRIES.map((entry) => {
      const box = element("input", { type: "checkbox", "data-toggle": entry.key });
      box.checked = true;
      box.addEventListener("change", () => {
        state.visible[box.checked ? "add" : "delete"](entry.key);
        draw();
        announce(`${entry.label} is ${box.checked ? "shown" : "hidden"}.`);
      });
      const key = element("svg", { viewBox: "-1.3 -1.3 2.6 2.6", width: 16, height: 16, "aria-hidden": "true" });
      key.append(markerShape(entry, 0, 0, 1, false));
      const cells = Array.from({ length: 7 }, () => element("td"));
      const label = element("label", {}, box, key, element("span", {}, entry.label));
      const row = element("tr", { "data-row": entry.key }, element("th", { scope: "row" }, label), ...cells);
      const point = (which) => () => {
        state.pointed = which;
        draw();
      };
      row.addEventListener("pointerenter", point(entry.key));
      row.addEventListener("pointerleave", point(null));
      part("rows").append(row);
      return [entry.key, { row, cells }];
    }),
  );

  function fillTable(found) {
    for (const { entry, weights, length: size, cosines, verdict, turned } of found) {
      const { row, cells } = rows.get(entry.key);
      const turn = turned === null ? "–" : turned < KEPT ? "kept" : `${words(turned)}°`;
      const texts = [...[...weights, size, ...cosines].map((value) => words(value, true)), verdict, turn];
      texts.forEach((text, i) => (cells[i].textContent = text));
      row.classList.toggle("off", !state.visible.has(entry.key));
    }
  }

  function draw() {
    const found = outcomes();
    plane.draw(state, found);
    fillTable(found);
    for (const button of root.querySelectorAll("[data-preset]")) {
      button.setAttribute("aria-pressed", String(button.dataset.preset === state.preset));
    }
    for (const button of root.querySelectorAll("[data-rescale]")) {
      const size = length(state.gradients[1]) * Number(button.dataset.rescale);
      button.disabled = size > LONGEST || size < 1 / LONGEST;
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

  function summary() {
    const found = outcomes();
    const named = (chosen) => chosen.map(({ entry }) => entry.label).join("; ") || "none";
    const [g1, g2] = state.gradients.map((g) => `(${words(g[0])}, ${words(g[1])})`);
    const both = named(found.filter(({ verdict }) => verdict === "yes"));
    const raising = named(found.filter(({ verdict }) => verdict.startsWith("no, raises")));
    return `g₁ = ${g1}, g₂ = ${g2}. Descending on both: ${both}. Raising one: ${raising}.`;
  }

  function turns(found) {
    const moved = found.filter(({ turned }) => turned !== null && turned >= KEPT);
    const kept = found.filter(({ turned }) => turned !== null && turned < KEPT);
    const list = (some, text) => some.map(text).join("; ") || "none";
    return (
      `Direction kept: ${list(kept, ({ entry }) => entry.label)}. ` +
      `Turned: ${list(moved, ({ entry, turned }) => `${entry.label} by ${words(turned)}°`)}.`
    );
  }

  /** After any change but a rescaling: forget the comparison, draw, and say what is to be seen. */
  function changed() {
    state.before = null;
    draw();
    announce(summary());
  }

  // ---- moving the gradients

  function moveTo(index, vector) {
    state.gradients[index] = vector;
    state.preset = null;
    changed();
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
      moveTo(index, plane.pointUnder(event));
    });
    tip.addEventListener("keydown", (event) => {
      const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      const way = ways[event.key];
      if (!way) return;
      event.preventDefault();
      const g = state.gradients[index];
      // long gradients move in long steps
      const decade = Math.pow(10, Math.max(0, Math.floor(Math.log10(length(g) || 1))));
      const step = (event.shiftKey ? 0.25 : 0.05) * decade;
      const rounded = (value) => Math.round(value / (0.001 * decade)) * 0.001 * decade;
      moveTo(index, [rounded(g[0] + step * way[0]), rounded(g[1] + step * way[1])]);
    });
  });

  // ---- knobs, presets, options

  function readKnob(input) {
    const { entry, setting, scale } = input.dataset;
    const chosen = input.type === "range" ? Number(input.value) : input.value;
    const value = scale === "log" ? Math.pow(10, chosen) : chosen;
    if (entry === "losses") state.losses[Number(setting)] = value;
    else state.settings[entry][setting] = value;
    if (input.type === "range") {
      const text = words(value);
      root.querySelector(`output[for="${input.id}"]`).textContent = text;
      input.setAttribute("aria-valuetext", text);
    }
  }

  const knobs = [...root.querySelectorAll("[data-setting]")];
  for (const knob of knobs) {
    readKnob(knob);
    knob.addEventListener("input", () => {
      readKnob(knob);
      changed();
    });
  }

  /** Show losses that presets or rescaling have set; a loss beyond the slider's range keeps its value. */
  function showLosses() {
    for (const knob of knobs.filter(({ dataset }) => dataset.entry === "losses")) {
      const value = state.losses[Number(knob.dataset.setting)];
      knob.value = String(Math.log10(value));
      root.querySelector(`output[for="${knob.id}"]`).textContent = words(value);
      knob.setAttribute("aria-valuetext", words(value));
    }
  }

  for (const button of root.querySelectorAll("[data-preset]")) {
    button.addEventListener("click", () => {
      state.preset = button.dataset.preset;
      state.gradients = PRESETS[state.preset].map((g) => [...g]);
      state.losses = [1, state.preset === "longer" ? 1000 : 1]; // a longer gradient of a larger loss
      showLosses();
      changed();
    });
  }

  for (const button of root.querySelectorAll("[data-rescale]")) {
    button.addEventListener("click", () => {
      const factor = Number(button.dataset.rescale);
      state.before = new Map(outcomes().map(({ entry, d }) => [entry.key, d]));
      state.gradients[1] = scaled(state.gradients[1], factor);
      state.losses[1] *= factor;
      state.preset = null;
      showLosses();
      announce(`Objective 2 was multiplied by ${words(factor)}. ${turns(draw())}`);
    });
  }

  for (const box of root.querySelectorAll("[data-option]")) {
    box.addEventListener("change", () => {
      state[box.dataset.option] = box.checked;
      draw();
    });
  }

  draw();
  announce(summary());
})();
