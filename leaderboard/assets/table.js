// Tables that sort by any column, and filters over methods, problems and metrics. Without this script the same
// tables stand there whole.
(function () {
  "use strict";

  function value(cell) {
    if (!cell) return null;
    if (!("value" in cell.dataset)) return cell.textContent.trim().toLowerCase();
    return cell.dataset.value === "" ? null : Number(cell.dataset.value);
  }

  // What has no number (failed, not run) stays last, whichever way the column is sorted.
  function compare(first, second, sign) {
    if (first === null || second === null) return (first === null) - (second === null);
    if (typeof first === "number" && typeof second === "number") return sign * (first - second);
    return sign * String(first).localeCompare(String(second));
  }

  function sort(table, position) {
    var heads = Array.from(table.tHead.rows[0].cells);
    var head = heads[position];
    var first = head.dataset.best === "max" ? "descending" : "ascending";
    var other = first === "ascending" ? "descending" : "ascending";
    var order = head.getAttribute("aria-sort") === first ? other : first;
    heads.forEach(function (each) { each.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", order);
    table.sortedHead = head;
    var sign = order === "ascending" ? 1 : -1;
    var body = table.tBodies[0];
    Array.from(body.rows)
      .map(function (row, place) { return { row: row, place: place, key: value(row.cells[position]) }; })
      .sort(function (a, b) { return compare(a.key, b.key, sign) || a.place - b.place; })
      .forEach(function (entry) { body.append(entry.row); });
  }

  // The best first, as the page came, of the columns that are shown: by the mean rank in the first metric that has a
  // better direction. What was not ranked stays last. A column that the reader sorted by stays the one, while it is shown.
  function bestFirst(table) {
    if (table.sortedHead && !table.sortedHead.hidden) return;
    var heads = Array.from(table.tHead.rows[0].cells), body = table.tBodies[0], rows = Array.from(body.rows);
    var first = heads.find(function (head) { return !head.hidden && head.dataset.best && head.dataset.measure; });
    if (!first) return;
    var chosen = heads.filter(function (head) { return !head.hidden && head.dataset.measure === first.dataset.measure; });
    var means = rows.map(function () { return 0; });
    chosen.forEach(function (head) {
      var sign = head.dataset.best === "max" ? -1 : 1;
      var values = rows.map(function (row) {
        var found = value(row.cells[head.cellIndex]);
        return found === null ? Infinity : sign * found;
      });
      values.forEach(function (own, at) {
        values.forEach(function (other) { means[at] += (other < own) + (other <= own); });
      });
    });
    heads.forEach(function (head) { head.removeAttribute("aria-sort"); });
    if (chosen.length === 1)
      first.setAttribute("aria-sort", first.dataset.best === "max" ? "descending" : "ascending");
    rows
      .map(function (row, at) { return { row: row, last: "unranked" in row.dataset, mean: means[at], place: at }; })
      .sort(function (a, b) { return a.last - b.last || a.mean - b.mean || a.place - b.place; })
      .forEach(function (entry) { body.append(entry.row); });
  }

  function sortable(table) {
    Array.from(table.tHead.rows[0].cells).forEach(function (head, position) {
      if ("unsorted" in head.dataset) return;
      var button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append.apply(button, Array.from(head.childNodes));
      var arrow = document.createElement("span");
      arrow.className = "arrow";
      (button.querySelector(".measure") || button).append(arrow);
      head.append(button);
      button.addEventListener("click", function () { sort(table, position); });
    });
  }

  function filterable(form) {
    var table = document.getElementById(form.dataset.filters);
    var status = form.querySelector("[data-status]");
    var fields = {};
    form.querySelectorAll("[data-filter]").forEach(function (field) { fields[field.dataset.filter] = field; });

    function wanted(name) {
      return fields[name] ? fields[name].value : "";
    }

    function apply() {
      var text = wanted("method").trim().toLowerCase();
      var heads = Array.from(table.tHead.rows[0].cells);
      var shown = heads.map(function (head) {
        var problem = wanted("problem"), measure = wanted("measure");
        if (!("measure" in head.dataset)) return true;
        return (!problem || head.dataset.problem === problem) && (!measure || head.dataset.measure === measure);
      });
      var rows = 0;
      heads.forEach(function (head, position) { head.hidden = !shown[position]; });
      Array.from(table.tBodies[0].rows).forEach(function (row) {
        row.hidden = row.cells[0].textContent.toLowerCase().indexOf(text) < 0;
        if (!row.hidden) rows += 1;
        Array.from(row.cells).forEach(function (cell, position) { cell.hidden = !shown[position]; });
      });
      bestFirst(table);
      var columns = shown.filter(Boolean).length - 1;
      status.textContent =
        rows + " of " + table.tBodies[0].rows.length + " methods, " + columns + " of " + (heads.length - 1) + " columns";
    }

    form.hidden = false;
    form.addEventListener("submit", function (event) { event.preventDefault(); });
    form.addEventListener("input", apply);
    form.querySelector("[data-reset]").addEventListener("click", function () {
      Object.keys(fields).forEach(function (name) { fields[name].value = ""; });
      table.sortedHead = null;
      apply();
    });
    apply();
  }

  // Rows that are not ranked wait behind a button, unless the address names one of them or there is nothing else.
  function foldable(table) {
    var rows = Array.from(table.querySelectorAll("tbody tr[data-unranked]"));
    if (rows.length < 3 || rows.length === table.tBodies[0].rows.length) return;
    var button = document.createElement("button");
    button.type = "button";
    button.className = "fold";
    function show(shown) {
      rows.forEach(function (row) { row.hidden = !shown; });
      button.setAttribute("aria-expanded", String(shown));
      button.textContent = (shown ? "Hide the " : "Show the ") + rows.length + " " + table.dataset.fold;
    }
    function follow() {
      var named = document.getElementById(window.location.hash.slice(1));
      if (rows.indexOf(named) < 0) return;
      show(true);
      named.scrollIntoView();
    }
    button.addEventListener("click", function () { show(button.getAttribute("aria-expanded") !== "true"); });
    table.parentElement.after(button);
    show(false);
    window.addEventListener("hashchange", follow);
    follow();
  }

  document.querySelectorAll("table[data-sortable]").forEach(sortable);
  document.querySelectorAll("table[data-fold]").forEach(foldable);
  document.querySelectorAll("form[data-filters]").forEach(filterable);
})();
