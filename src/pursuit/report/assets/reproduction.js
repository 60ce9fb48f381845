// The page of the reproduced experiments.

(() => {
  const { charts } = JSON.parse(document.getElementById("data").textContent);
  const against = document.getElementById("against");
  const drawn = [...document.querySelectorAll(".curves")].map((node) => {
    const panel = charts[Number(node.dataset.panel)];
    return { panel, chart: new LineChart(node, panel[0], { height: 380 }) };
  });
  against.addEventListener("change", () => {
    for (const { panel, chart } of drawn) chart.show(panel[Number(against.value)]);
  });
  document.documentElement.dataset.ready = "yes";
})();
