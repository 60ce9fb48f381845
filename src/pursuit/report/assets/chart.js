// Line charts in SVG: drawn to the width at hand, again when it changes.

const DASHES = ["", "7 4", "2 3", "9 3 2 3", "4 2", "14 4", "12 3 2 3 2 3", "4 4 1 4"];
const lookDash = (k) => DASHES[(Math.floor(k / 8) + k) % 8];
const HEIGHT = 300;

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

class Scale {
  constructor(low, high, from, to, log) {
    this.log = log;
    this.at = log ? Math.log10 : (v) => v;
    this.low = this.at(low);
    this.high = this.at(high);
    if (!(this.high > this.low)) { this.low -= 0.5; this.high += 0.5; }
    this.from = from;
    this.to = to;
  }

  place(value) {
    return this.from + ((this.at(value) - this.low) / (this.high - this.low)) * (this.to - this.from);
  }

  value(place) {
    const v = this.low + ((place - this.from) / (this.to - this.from)) * (this.high - this.low);
    return this.log ? 10 ** v : v;
  }

  ticks(room) {
    const most = Math.max(2, Math.floor(Math.abs(this.to - this.from) / room));
    const span = this.high - this.low;
    if (this.log && span >= 1) {
      const stride = Math.ceil(span / most);
      const first = Math.ceil(this.low - 1e-9);
      const count = Math.floor((this.high - first + 1e-9) / stride) + 1;
      return Array.from({ length: count }, (_, i) => 10 ** (first + i * stride));
    }
    const [low, high] = this.log ? [10 ** this.low, 10 ** this.high] : [this.low, this.high];
    const rough = (high - low) / most;
    const base = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * base).find((s) => s >= rough * 0.999);
    const first = Math.ceil(low / step - 1e-9);
    const count = Math.floor(high / step + 1e-9) - first + 1;
    return Array.from({ length: count }, (_, i) => (first + i) * step);
  }
}

const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";
function tickLabel(value, scale) {
  if (!scale.log || scale.high - scale.low < 1) return format(value);
  const power = Math.round(Math.log10(value));
  if (power >= 0 && power <= 3) return (10 ** power).toLocaleString("en");
  return `10${power < 0 ? "⁻" : ""}${String(Math.abs(power)).replace(/\d/g, (d) => SUPERSCRIPT[d])}`;
}

class LineChart {
  // spec: {title, x, y, lines}; a line: {name, x, y, look, low, high, gaps}
  constructor(parent, spec, { legend = true, table = true, height = HEIGHT } = {}) {
    this.hidden = new Set();
    this.height = height;
    this.root = element("div", { className: "chart" });
    this.plot = element("div");
    this.readout = element("div", { className: "readout", hidden: true });
    this.root.append(this.plot, this.readout);
    parent.append(this.root);
    if (legend) this.legend = this.root.appendChild(element("div", { className: "legend" }));
    if (table) this.#offerTable();
    this.plot.addEventListener("pointermove", (event) => this.#point(event));
    this.plot.addEventListener("pointerleave", () => this.#unpoint());
    new ResizeObserver(() => {
      if (this.root.clientWidth !== this.width) this.draw();
    }).observe(this.root);
    this.show(spec);
  }

  show(spec) {
    this.spec = spec;
    Looks.ensure(1 + Math.max(0, ...spec.lines.map((line) => line.look)));
    if (this.legend) this.#drawLegend();
    this.draw();
  }

  get lines() {
    return this.spec.lines.filter((line) => !this.hidden.has(line.name));
  }

  draw() {
    this.width = this.root.clientWidth;
    if (!this.width) return;
    const { spec, width, height } = this;
    const right = width - 10, bottom = height - 40;
    const ys = this.#scale(spec.y, this.lines.flatMap((l) => [...l.y, ...(l.low || [])]), bottom, 12);
    const labels = ys.ticks(44).map((value) => [value, tickLabel(value, ys)]);
    const left = 26 + 7 * Math.max(...labels.map(([, text]) => text.length));
    const xs = this.#scale(spec.x, this.lines.flatMap((l) => l.x), left, right);
    this.xs = xs;
    this.ys = ys;
    const clip = `clip${LineChart.count++}`;
    const node = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": this.#described() });
    node.append(svg("clipPath", { id: clip }, svg("rect", { x: left, y: 6, width: right - left, height: bottom - 6 })));
    for (const [value, text] of labels) {
      const y = ys.place(value);
      node.append(svg("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }), this.#text(left - 6, y + 4, text, "end"));
    }
    for (const value of xs.ticks(52)) {
      const x = xs.place(value);
      node.append(svg("line", { class: "grid", x1: x, x2: x, y1: 12, y2: bottom }), this.#text(x, bottom + 17, tickLabel(value, xs), "middle"));
    }
    node.append(svg("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }));
    node.append(this.#text((left + right) / 2, height - 5, spec.x.label, "middle"));
    const label = this.#text(0, 0, spec.y.label, "middle");
    label.setAttribute("transform", `translate(12 ${(bottom + 12) / 2}) rotate(-90)`);
    node.append(label);
    const inside = svg("g", { "clip-path": `url(#${clip})` });
    for (const line of this.lines) inside.append(...this.#curve(line));
    this.guide = svg("line", { class: "guide", y1: 12, y2: bottom, visibility: "hidden" });
    node.append(inside, this.guide);
    this.plot.replaceChildren(node);
  }

  #scale(axis, values, from, to) {
    const good = values.filter((v) => v !== null && Number.isFinite(v) && (!axis.log || v > 0));
    let low = axis.low ?? good.reduce((a, b) => Math.min(a, b), Infinity);
    let high = axis.high ?? good.reduce((a, b) => Math.max(a, b), -Infinity);
    if (axis.zero) [low, high] = [Math.min(0, low), Math.max(0, high)];
    if (!Number.isFinite(low) || !Number.isFinite(high)) [low, high] = axis.log ? [1, 10] : [0, 1];
    return new Scale(low, high, from, to, axis.log);
  }

  #text(x, y, content, anchor) {
    return svg("text", { x, y, "text-anchor": anchor }, content);
  }

  #visible(line, i, ys) {
    return ys[i] !== null && Number.isFinite(ys[i]) && (!this.ys.log || ys[i] > 0) && (!this.xs.log || line.x[i] > 0);
  }

  #path(line, ys) {
    let path = "", pen = false;
    for (let i = 0; i < line.x.length; i++) {
      if (!this.#visible(line, i, ys)) { pen = false; continue; }
      if (line.gaps && line.gaps.has(i)) pen = false;
      const y = Math.max(-1e4, Math.min(1e4, this.ys.place(ys[i])));
      path += `${pen ? "L" : "M"}${this.xs.place(line.x[i]).toFixed(1)} ${y.toFixed(1)}`;
      pen = true;
    }
    return path;
  }

  #curve(line) {
    const parts = [];
    if (line.low) {
      const range = line.x.map((_, i) => i).filter((i) => this.#visible(line, i, line.low) && this.#visible(line, i, line.high));
      const corner = (i, ys) => `${this.xs.place(line.x[i]).toFixed(1)} ${Math.max(-1e4, this.ys.place(ys[i])).toFixed(1)}`;
      const outline = [...range.map((i) => corner(i, line.high)), ...range.reverse().map((i) => corner(i, line.low))];
      parts.push(svg("path", { class: "band", d: outline.length ? `M${outline.join("L")}Z` : "", fill: lookColour(line.look) }));
    }
    const dash = line.dash ?? lookDash(line.look);
    parts.push(svg("path", { class: "line", d: this.#path(line, line.y), stroke: line.colour ?? lookColour(line.look), "stroke-dasharray": dash }));
    return parts;
  }

  #drawLegend() {
    this.legend.replaceChildren(...this.spec.lines.map((line) => {
      const sample = svg("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, svg("line", {
        x1: 0, x2: 26, y1: 5, y2: 5, "stroke-width": 3, stroke: line.colour ?? lookColour(line.look), "stroke-dasharray": line.dash ?? lookDash(line.look),
      }));
      const button = element("button", { type: "button", "aria-pressed": String(!this.hidden.has(line.name)) }, sample, line.name);
      button.addEventListener("click", () => {
        if (this.hidden.has(line.name)) this.hidden.delete(line.name);
        else this.hidden.add(line.name);
        button.setAttribute("aria-pressed", String(!this.hidden.has(line.name)));
        this.draw();
      });
      return button;
    }));
  }

  #described() {
    return `${this.spec.title}: ${this.spec.y.label} against ${this.spec.x.label} for ${this.spec.lines.map((l) => l.name).join(", ")}`;
  }

  #nearest(line, x) {
    let best = -1, distance = Infinity;
    for (let i = 0; i < line.x.length; i++) {
      if (this.xs.log && !(line.x[i] > 0)) continue;
      const d = Math.abs(this.xs.place(line.x[i]) - x);
      if (d < distance) { best = i; distance = d; }
    }
    return best;
  }

  #point(event) {
    const box = this.plot.getBoundingClientRect();
    const x = event.clientX - box.left;
    if (!this.lines.length || x < this.xs.from || x > this.xs.to) { this.#unpoint(); return; }
    const first = this.#nearest(this.lines[0], x);
    const at = this.lines[0].x[first];
    const rows = this.lines.map((line) => element("div", {},
      element("i", { className: "swatch", style: `background:${line.colour ?? lookColour(line.look)}` }),
      `${line.name}: ${format(line.y[this.#nearest(line, this.xs.place(at))])}`));
    this.readout.replaceChildren(element("div", {}, `${this.spec.x.label} ${format(at)}`), ...rows);
    this.readout.hidden = false;
    const place = this.xs.place(at);
    const wide = this.readout.offsetWidth;
    this.readout.style.left = `${Math.max(0, place + wide + 14 > this.width ? place - wide - 12 : place + 12)}px`;
    this.readout.style.top = "10px";
    for (const end of ["x1", "x2"]) this.guide.setAttribute(end, place);
    this.guide.setAttribute("visibility", "visible");
  }

  #unpoint() {
    this.readout.hidden = true;
    if (this.guide) this.guide.setAttribute("visibility", "hidden");
  }

  // The numbers behind the lines, for those who cannot or do not want to look at lines.
  #offerTable() {
    const box = element("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Numbers of the chart" });
    const details = element("details", { className: "numbers" }, element("summary", {}, "Numbers"), box);
    details.addEventListener("toggle", () => {
      if (!details.open) return;
      const [first, ...rest] = this.spec.lines;
      const same = rest.every((line) => line.x.length === first.x.length && line.x.every((v, i) => v === first.x[i]));
      const head = same ? [this.spec.x.label, ...this.spec.lines.map((l) => l.name)] : this.spec.lines.flatMap((l) => [this.spec.x.label, l.name]);
      const body = first.x.map((x, i) => (same ? [x, ...this.spec.lines.map((l) => l.y[i])] : this.spec.lines.flatMap((l) => [l.x[i] ?? null, l.y[i] ?? null])));
      box.replaceChildren(element("table", {},
        element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
        element("tbody", {}, ...body.map((row) => element("tr", {}, ...row.map((v) => element("td", {}, format(v))))))));
    });
    this.root.append(details);
  }
}
LineChart.count = 0;
