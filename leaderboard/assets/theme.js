// Runs before the page is drawn, so that a reader who chose a theme never sees the other one flash by.
(function () {
  "use strict";
  var stored = null;
  try {
    stored = window.localStorage.getItem("mobench-theme");
  } catch (error) {
    stored = null; // a browser may keep storage from pages opened as files
  }
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
})();
