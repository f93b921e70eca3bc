// Search over methods, problems, suites and documents. The index is a script, loaded when the field is first used.
(function () {
  "use strict";

  var MOST = 12;

  function words(text) {
    return text.toLowerCase().split(/\s+/).filter(Boolean);
  }

  // Better matches first: a name that begins with the text, then one that holds it, then a description that does.
  function rank(entry, asked) {
    var name = entry.name.toLowerCase(), all = (entry.name + " " + entry.about).toLowerCase();
    if (!asked.every(function (word) { return all.indexOf(word) >= 0; })) return null;
    if (name.indexOf(asked[0]) === 0) return 0;
    return name.indexOf(asked[0]) > 0 ? 1 : 2;
  }

  function ready(form) {
    var field = form.querySelector("input"), list = form.querySelector("[data-found]");
    var root = form.dataset.search, entries = null;

    function show() {
      var asked = words(field.value);
      list.replaceChildren();
      list.hidden = !asked.length || entries === null;
      if (list.hidden) return;
      entries
        .map(function (entry) { return { entry: entry, rank: rank(entry, asked) }; })
        .filter(function (one) { return one.rank !== null; })
        .sort(function (a, b) { return a.rank - b.rank; })
        .slice(0, MOST)
        .forEach(function (one) {
          var line = document.createElement("li"), link = document.createElement("a"), kind = document.createElement("span");
          link.href = root + one.entry.href;
          link.textContent = one.entry.name;
          kind.className = "quiet";
          kind.textContent = " " + one.entry.kind;
          line.append(link, kind);
          list.append(line);
        });
      if (!list.children.length) {
        var none = document.createElement("li");
        none.textContent = "Nothing here is called that.";
        list.append(none);
      }
    }

    function load() {
      if (entries !== null) return;
      entries = [];
      var script = document.createElement("script");
      script.src = root + "data/search.js";
      script.onload = function () {
        entries = window.mobenchData.get("search");
        show();
      };
      document.head.append(script);
    }

    form.hidden = false;
    field.addEventListener("focus", load);
    field.addEventListener("input", show);
    form.addEventListener("submit", function (event) {
      event.preventDefault();
      var first = list.querySelector("a");
      if (first) window.location.href = first.href;
    });
    form.addEventListener("keydown", function (event) {
      if (event.key !== "Escape") return;
      field.value = "";
      show();
      field.focus();
    });
    document.addEventListener("click", function (event) { if (!form.contains(event.target)) list.hidden = true; });
  }

  document.querySelectorAll("form[data-search]").forEach(ready);
})();
