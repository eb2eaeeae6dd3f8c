// The theme is chosen before anything is drawn. It is no module, because those wait for the page.
(() => {
  const themes = ["auto", "light", "dark"];
  const read = () => {
    try {
      return localStorage.getItem("redlatch-theme");
    } catch {
      return null; // this browser keeps nothing
    }
  };
  let theme = themes.includes(read()) ? read() : "auto";
  const show = () => {
    document.documentElement.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (!button) return;
    button.textContent = { auto: "Auto", light: "Light", dark: "Dark" }[theme];
    button.setAttribute("aria-label", "Theme: " + { auto: "as the system", light: "light", dark: "dark" }[theme]);
  };
  globalThis.redlatchTheme = () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try {
      localStorage.setItem("redlatch-theme", theme);
    } catch {
      // it lasts as long as the page
    }
    show();
  };
  show();
  document.addEventListener("DOMContentLoaded", show);
})();
