// Every number opens to what is behind it, in a dialog or on a page of its own: number.html#KEY/POSITION. The data of
// a method on a problem lies in a script of its own, loaded when it is first asked for; all of it is shown as text,
// never as markup.
(function () {
  "use strict";

  var waiting = new Map();

  function load(source, key, then, failed) {
    var data = window.mobenchData;
    if (data && data.has(key)) return then(data.get(key));
    if (waiting.has(key)) return waiting.get(key).push(then);
    waiting.set(key, [then]);
    var script = document.createElement("script");
    script.src = source;
    script.onload = function () {
      var calls = waiting.get(key);
      waiting.delete(key);
      calls.forEach(function (call) { call(window.mobenchData.get(key)); });
    };
    script.onerror = function () {
      waiting.delete(key);
      failed();
    };
    document.head.append(script);
  }

  function element(name, text, className) {
    var made = document.createElement(name);
    if (text !== undefined && text !== null) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function number(value) {
    if (value === null || value === undefined) return "–";
    if (value === 0) return "0";
    var size = Math.abs(value);
    if (size < 1e-3 || size >= 1e5) return value.toExponential(2);
    return String(Number(value.toPrecision(4)));
  }

  function spread(point) {
    if (!point) return "–";
    if (point[1] === null || point[1] === point[2]) return number(point[0]);
    return number(point[0]) + " [" + number(point[1]) + ", " + number(point[2]) + "]";
  }

  function table(caption, heads, rows) {
    var box = element("div", null, "scroll");
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", caption);
    var made = element("table", null, "numbers");
    made.append(element("caption", caption));
    var head = made.createTHead().insertRow();
    heads.forEach(function (text) {
      var cell = element("th", text);
      cell.scope = "col";
      head.append(cell);
    });
    var body = made.createTBody();
    rows.forEach(function (row) {
      var line = body.insertRow();
      if (row.marked) line.className = "chosen";
      row.cells.forEach(function (text, position) {
        var cell = element(position ? "td" : "th", text);
        if (position && typeof text === "string" && text.length > 40) cell.className = "text";
        if (!position) cell.scope = "row";
        line.append(cell);
      });
    });
    box.append(made);
    return box;
  }

  function seeds(detail, measure) {
    var ids = new Map();
    detail.runs.forEach(function (run) {
      if (measure.configuration === null || run.configuration === measure.configuration)
        ids.set(run.seed, (ids.get(run.seed) || []).concat(run.id));
    });
    var rows = measure.values.map(function (pair) {
      var found = ids.get(pair[0]) || [];
      return { cells: [pair[0], number(pair[1]), found.length > 3 ? found.length + " runs" : found.join(", ")] };
    });
    if (!rows.length) return element("p", "No run gave this number.");
    return table("Value at every seed", ["seed", measure.label, "run"], rows);
  }

  function sweep(detail, measure) {
    var rows = detail.configurations.map(function (one, place) {
      var numbers = measure.columns.map(function (metric) { return spread(one.points[metric]); });
      var marked = place === measure.configuration;
      return { marked: marked, cells: [one.label + (marked ? " (shown)" : "")].concat(numbers, [one.n, one.failed]) };
    });
    var heads = ["configuration"].concat(measure.columns, ["finished", "failed"]);
    return table("The sweep: mean and 95 % interval over seeds, in stored units", heads, rows);
  }

  function failures(detail) {
    var failed = detail.runs.filter(function (run) { return run.status !== "done"; });
    if (!failed.length) return null;
    return table("Failed runs", ["seed", "configuration", "run", "reason"], failed.map(function (run) {
      return { cells: [run.seed, detail.configurations[run.configuration].label, run.id, run.error] };
    }));
  }

  function commands(measure) {
    var part = element("div", null, "commands");
    part.append(element("h3", "Reproduce this number"));
    part.append(element("p", measure.commands.length > 1
      ? "These commands run again what it was made from, and print the tables that hold it."
      : "This command runs again what it was made from, and prints the tables that hold it.", "quiet"));
    var block = element("pre", measure.commands.join("\n"));
    block.tabIndex = 0;
    part.append(block, window.mobenchSite.copyButton(block));
    return part;
  }

  function behind(detail, position) {
    var measure = detail.measures[position];
    var lead = element("p", null, "lead");
    lead.append(element("strong", measure.label + ": " + measure.text));
    var chosen = measure.configuration === null ? "" : " (" + detail.configurations[measure.configuration].label + ")";
    lead.append(element("span", " — " + measure.how + chosen + "."));
    var parts = [lead];
    if (measure.missing) parts.push(element("p", measure.missing + " seeds are missing, so it is never marked as best."));
    if (measure.published !== null)
      parts.push(element("p", "Published: " + number(measure.published) + " (" + measure.source + "). " + measure.note));
    parts.push(seeds(detail, measure), sweep(detail, measure));
    var failed = failures(detail);
    if (failed) parts.push(failed);
    parts.push(commands(measure));
    return parts;
  }

  function pages(detail, root) {
    var line = element("p", null, "quiet");
    [["All numbers of suite " + detail.suite + ", profile " + detail.profile, detail.suite_page],
     ["All of " + detail.contender, detail.method_page]].forEach(function (page) {
      var link = element("a", page[0]);
      link.href = root + page[1];
      line.append(link, " · ");
    });
    line.lastChild.remove();
    return line;
  }

  function address() {
    var part = element("div"), block = element("pre", window.location.href);
    block.tabIndex = 0;
    part.append(element("h3", "Link to this number"), block, window.mobenchSite.copyButton(block));
    return part;
  }

  function fill(dialog, detail, position, address) {
    var close = element("button", "Close", "close");
    close.type = "button";
    close.addEventListener("click", function () { dialog.close(); });
    var title = element("h2", detail.contender + " on " + detail.instance);
    title.id = "drill-title";
    var link = element("a", "A page for this number, to link to");
    link.href = address;
    var line = element("p");
    line.append(link);
    var root = address.slice(0, address.indexOf("number.html"));
    dialog.replaceChildren.apply(dialog, [close, title].concat(behind(detail, position), line, pages(detail, root)));
  }

  function showNumber(place) {
    var found = /^#([\w.-]+\/\d+)\/(\d+)$/.exec(window.location.hash);
    var heading = document.querySelector("h1");
    function unknown() {
      heading.textContent = "A number of this leaderboard";
      place.replaceChildren(element("p", "There is no such number here: the address is not one of this site."));
    }
    if (!found) return unknown();
    load("data/" + found[1] + ".js", found[1], function (detail) {
      if (!detail.measures[found[2]]) return unknown();
      heading.textContent = detail.contender + " on " + detail.instance;
      document.title = heading.textContent;
      place.replaceChildren.apply(place, behind(detail, found[2]).concat(address(), pages(detail, "")));
    }, unknown);
  }

  function openable(dialog, cell) {
    var table = cell.closest("table");
    var folder = table.dataset.folder;
    var address = table.dataset.root + "number.html#" + cell.dataset.key + "/" + cell.dataset.position;
    var button = document.createElement("button");
    button.type = "button";
    button.className = "open";
    button.setAttribute("aria-haspopup", "dialog");
    button.append.apply(button, Array.from(cell.childNodes));
    cell.append(button);
    button.addEventListener("click", function () {
      load(folder + cell.dataset.file + ".js", cell.dataset.key, function (detail) {
        fill(dialog, detail, cell.dataset.position, address);
        dialog.showModal();
      }, function () {
        dialog.replaceChildren(element("p", "The data of this number could not be loaded."));
        dialog.showModal();
      });
    });
  }

  var page = document.querySelector("[data-number]");
  if (page) {
    showNumber(page);
    window.addEventListener("hashchange", function () { showNumber(page); });
  }
  var cells = document.querySelectorAll("td[data-file]");
  if (!cells.length) return;
  var dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "drill-title");
  dialog.className = "drill";
  dialog.addEventListener("click", function (event) { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  cells.forEach(function (cell) { openable(dialog, cell); });
})();
