"use strict";

// Light or dark: as the system has it, until the button says otherwise.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const announce = () => document.dispatchEvent(new Event("themechange"));
  const remember = (theme) => {
    try { localStorage.setItem("pursuit-theme", theme); } catch { /* a page from disk may have no storage */ }
  };
  try {
    const theme = localStorage.getItem("pursuit-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch { /* as above */ }
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    announce();
  });
  system.addEventListener("change", announce);
})();
