// The page of the reproduced experiments.

(() => {
  const { charts, extra } = JSON.parse(document.getElementById("data").textContent);
  const against = document.getElementById("against");
  const height = window.innerWidth < 600 ? 300 : 380;
  const drawn = [...document.querySelectorAll(".curves[data-panel]")].map((node) => {
    const panel = charts[Number(node.dataset.panel)];
    return { panel, chart: new LineChart(node, panel[0], { height }) };
  });
  for (const node of document.querySelectorAll(".curves[data-extra]")) {
    new LineChart(node, extra[Number(node.dataset.extra)], { height });
  }
  against.addEventListener("change", () => {
    for (const { panel, chart } of drawn) chart.show(panel[Number(against.value)]);
  });
  document.documentElement.dataset.ready = "yes";
})();
