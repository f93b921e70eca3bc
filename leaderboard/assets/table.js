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
    var sign = order === "ascending" ? 1 : -1;
    var body = table.tBodies[0];
    Array.from(body.rows)
      .map(function (row, place) { return { row: row, place: place, key: value(row.cells[position]) }; })
      .sort(function (a, b) { return compare(a.key, b.key, sign) || a.place - b.place; })
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
      var columns = shown.filter(Boolean).length - 1;
      status.textContent =
        rows + " of " + table.tBodies[0].rows.length + " methods, " + columns + " of " + (heads.length - 1) + " columns";
    }

    form.hidden = false;
    form.addEventListener("submit", function (event) { event.preventDefault(); });
    form.addEventListener("input", apply);
    form.querySelector("[data-reset]").addEventListener("click", function () {
      Object.keys(fields).forEach(function (name) { fields[name].value = ""; });
      apply();
    });
    apply();
  }

  document.querySelectorAll("table[data-sortable]").forEach(sortable);
  document.querySelectorAll("form[data-filters]").forEach(filterable);
})();
