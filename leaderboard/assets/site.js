// What every page has: the theme switch, the pictures of the theme that is shown, and the buttons that copy a text.
(function () {
  "use strict";

  function dark() {
    var chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function keep(theme) {
    try {
      window.localStorage.setItem("mobench-theme", theme);
    } catch (error) {
      return; // the choice then lasts for this page alone
    }
  }

  // The pictures of the other theme wait until they are needed.
  function loadPictures() {
    document.querySelectorAll(dark() ? "img.dark-only" : "img.light-only").forEach(function (picture) {
      picture.loading = "eager";
    });
  }

  function themeSwitch(button) {
    function show() {
      loadPictures();
      button.textContent = dark() ? "Light theme" : "Dark theme";
    }
    button.hidden = false;
    button.addEventListener("click", function () {
      var theme = dark() ? "light" : "dark";
      document.documentElement.dataset.theme = theme;
      keep(theme);
      show();
    });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
    show();
  }

  function select(element) {
    var range = document.createRange();
    range.selectNodeContents(element);
    var selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  }

  // Used by other scripts too: a button that copies the text of an element, or selects it where copying is refused.
  function copyButton(element) {
    var button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", function () {
      select(element);
      if (!navigator.clipboard) {
        button.textContent = "Selected";
        return;
      }
      navigator.clipboard.writeText(element.textContent).then(
        function () { button.textContent = "Copied"; },
        function () { button.textContent = "Selected"; }
      );
    });
    return button;
  }

  // One of several parts is shown, and the address says which.
  function chooser(select) {
    var parts = Array.from(document.querySelectorAll('[data-choice-of="' + select.id + '"]'));
    function show(name) {
      parts.forEach(function (part) { part.hidden = part.dataset.choice !== name; });
    }
    function follow() {
      var row = document.getElementById(window.location.hash.slice(1));
      var part = row && row.closest('[data-choice-of="' + select.id + '"]');
      if (!part) return;
      select.value = part.dataset.choice;
      show(select.value);
      row.scrollIntoView();
    }
    select.closest("[hidden]").hidden = false;
    select.addEventListener("change", function () {
      show(select.value);
      window.history.replaceState(null, "", "#" + select.value);
    });
    window.addEventListener("hashchange", follow);
    follow();
  }

  document.querySelectorAll("select[data-chooser]").forEach(chooser);
  document.querySelectorAll("[data-theme-switch]").forEach(themeSwitch);
  document.querySelectorAll("pre[data-copy]").forEach(function (block) {
    block.after(copyButton(block));
  });
  window.mobenchSite = { copyButton: copyButton };
})();
