// What every page has: the theme switch and the buttons that copy a text.
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

  function themeSwitch(button) {
    function show() {
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

  document.querySelectorAll("[data-theme-switch]").forEach(themeSwitch);
  document.querySelectorAll("pre[data-copy]").forEach(function (block) {
    block.after(copyButton(block));
  });
  window.mobenchSite = { copyButton: copyButton };
})();
