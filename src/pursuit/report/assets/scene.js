// The page of an unmixed scene.

class ScenePage {
  static async open(data) {
    const [mask, mean, basis, scores, endmembers, colours, residuals, angles, shade, ...abundances] = await Promise.all([
      unpack(data.mask), unpack(data.spectra.mean), unpack(data.spectra.basis), unpack(data.spectra.scores),
      unpack(data.endmembers), unpack(data.quicklook.rgb), unpackMap(data.residuals), unpackMap(data.angles),
      data.shade ? unpackMap(data.shade) : null, ...data.abundances.map(unpackMap),
    ]);
    return new ScenePage(data, { mask, mean, basis, scores, endmembers, colours, residuals, angles, shade, abundances });
  }

  constructor(data, arrays) {
    Object.assign(this, { data, ...arrays });
    this.bands = data.bands.length;
    this.picture = new Picture(data.shape, this.mask);
    // A line is broken where bands were left out.
    this.gaps = new Set(data.bands.flatMap((band, i) => (i > 0 && band !== data.bands[i - 1] + 1 ? [i] : [])));
    this.views = [];
    Looks.ensure(data.names.length);
    this.#layers();
    this.#explorer();
    this.#smallMaps();
    this.#charts();
    this.#swatches();
    document.addEventListener("themechange", () => { this.#showLayer(); this.#swatches(); });
    const [row, column] = this.#start();
    this.choose(row, column);
  }

  // What the maps show -------------------------------------------------------------------

  #layers() {
    const abundances = this.abundances.map((values, k) => ({ name: this.data.names[k], look: k, values, range: this.#robust(values) }));
    this.errors = [
      { name: "Residual norm", values: this.residuals, range: this.#robust(this.residuals) },
      { name: "Spectral angle", values: this.angles, range: this.#robust(this.angles), unit: "°" },
    ];
    // A full bar is a share of one, or the most there is where all shares are smaller.
    this.full = Math.min(1, Math.max(1e-30, ...abundances.map((layer) => layer.range.high)));
    this.quicklook = { name: "Colour picture", caption: this.data.quicklook.caption, colour: this.#colours() };
    const shade = this.shade ? [{ name: "Shade", values: this.shade, range: this.#robust(this.shade), share: true }] : [];
    this.shares = [...abundances.map((layer) => ({ ...layer, share: true })), ...shade];
    this.layers = [{ name: "Mixture of all", mixture: true }, this.quicklook, ...this.shares, ...this.errors];
  }

  // Red, green and blue are stored as differences from the pixel before.
  #colours() {
    const size = this.picture.size;
    const rgb = Uint8Array.from(this.colours);
    for (let c = 0; c < 3; c++) for (let i = 1; i < size; i++) rgb[c * size + i] += rgb[c * size + i - 1];
    return (i) => [rgb[i], rgb[size + i], rgb[2 * size + i]];
  }

  // A few bright pixels must not darken a whole map: the ramp ends where 1 % of them are above.
  #robust(values) {
    const sorted = Float32Array.from(values).sort();
    const last = sorted.length - 1;
    const low = Math.min(0, sorted[Math.floor(0.01 * last)]);
    const high = sorted[Math.ceil(0.99 * last)];
    return high > low ? { low, high, above: sorted[last] > high } : { low, high: sorted[last], above: false };
  }

  #mixed() {
    const colours = Looks.values().slice(0, this.data.names.length).map((text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16)));
    return (i) => {
      let sum = 0;
      const mix = [0, 0, 0];
      for (let k = 0; k < colours.length; k++) {
        const share = Math.max(0, this.abundances[k][i]);
        sum += share;
        for (let c = 0; c < 3; c++) mix[c] += share * colours[k][c];
      }
      return sum > 0 ? mix.map((c) => c / sum) : [0, 0, 0];
    };
  }

  // The large map and the pixel beside it ------------------------------------------------

  #explorer() {
    const choose = (row, column) => this.choose(row, column);
    const { rows, columns } = this.picture;
    const frame = element("div", { className: "window", style: `aspect-ratio:${columns}/${rows};max-width:${Math.round(Math.min(560, (560 * columns) / rows))}px` });
    document.getElementById("bigmap").append(frame);
    this.big = new MapView(frame, this.picture, "Large map", choose);
    this.views.push(this.big);
    const [nearer, farther, fit, level] = ["nearer", "farther", "fit", "zoom"].map((id) => document.getElementById(id));
    this.zoom = new Zoom(this.big, { nearer, farther, fit, level });
    document.getElementById("save").addEventListener("click", () => this.#save());
    this.select = document.getElementById("layer");
    this.select.append(...this.layers.map((layer, i) => element("option", { value: String(i) }, layer.name)));
    this.select.addEventListener("change", () => this.#showLayer());
    this.#showLayer();
    for (const [id, limit] of [["row", this.picture.rows], ["column", this.picture.columns]]) {
      const input = document.getElementById(id);
      input.max = limit - 1;
      input.addEventListener("change", () => this.choose(Number(document.getElementById("row").value), Number(document.getElementById("column").value)));
    }
  }

  #showLayer() {
    const layer = this.layers[this.select.value];
    const scale = document.getElementById("scale");
    this.big.root.setAttribute("aria-label", `Large map: ${layer.name}. Arrow keys move the chosen pixel, plus and minus zoom.`);
    if (layer.mixture) {
      this.big.paint(this.#mixed());
      scale.replaceChildren(element("div", { className: "mix" }, ...this.data.names.map((name, k) => element("span", {}, this.#swatch(k), name))));
    } else if (layer.colour) {
      this.big.paint(layer.colour);
      scale.replaceChildren(element("p", { className: "caption" }, layer.caption));
    } else {
      this.big.paint(byRamp(layer.values, layer.range));
      scale.replaceChildren(rampLegend(layer.range, layer.unit));
    }
  }

  #save() {
    const layer = this.layers[this.select.value];
    const swatches = () => Looks.values().slice(0, this.data.names.length).map((colour, k) => [colour, this.data.names[k]]);
    const legend = layer.mixture ? { swatches: swatches() } : layer.colour ? { text: layer.caption } : { ...layer.range, unit: layer.unit };
    saveImage(imageOf(this.big.canvas, `${this.data.name}: ${layer.name}`, legend), `${this.data.name} ${layer.name}`);
  }

  #swatch(k) {
    return element("i", { className: "swatch", style: `background:${lookColour(k)}` });
  }

  #swatches() {
    for (const node of document.querySelectorAll("[data-look]")) node.style.background = lookColour(Number(node.dataset.look));
  }

  #smallMaps() {
    this.#grid("maps", [this.quicklook, ...this.shares]);
    this.#grid("errors", this.errors);
  }

  #grid(id, layers) {
    for (const layer of layers) {
      const caption = element("figcaption", {}, ...(layer.look === undefined ? [] : [this.#swatch(layer.look)]), element("span", { title: layer.name }, layer.name));
      const figure = element("figure", {}, caption);
      document.getElementById(id).append(figure);
      const view = new MapView(figure, this.picture, `Map of ${layer.name}`, (row, column) => this.choose(row, column));
      view.paint(layer.colour ?? byRamp(layer.values, layer.range));
      this.views.push(view);
      figure.append(layer.colour ? element("p", { className: "caption" }, layer.caption) : rampLegend(layer.range, layer.unit));
    }
  }

  // Charts -------------------------------------------------------------------------------

  #line(name, y, look, more = {}) {
    return { name, x: this.data.waves, y: Array.from(y), look, gaps: this.gaps, ...more };
  }

  #charts() {
    const x = { label: this.data.axis };
    const spectrum = (k) => this.endmembers.subarray(k * this.bands, (k + 1) * this.bands);
    new LineChart(document.getElementById("endmembers"), {
      title: "Endmember spectra", x, y: { label: "value", zero: true },
      lines: this.data.names.map((name, k) => this.#line(name, spectrum(k), k)),
    });
    for (const name of ["number", "convergence"]) {
      if (this.data[name]) new LineChart(document.getElementById(name), this.data[name]);
    }
  }

  // The chosen pixel ---------------------------------------------------------------------

  #start() {
    const { rows, columns } = this.picture;
    const middle = Math.floor(rows / 2) * columns + Math.floor(columns / 2);
    for (let d = 0; d < rows * columns; d++) {
      for (const place of [middle + d, middle - d]) {
        if (this.picture.index[place] >= 0) return [Math.floor(place / columns), place % columns];
      }
    }
    return [0, 0];
  }

  measured(pixel) {
    const spectrum = Float32Array.from(this.mean);
    for (let k = 0; k * this.bands < this.basis.length; k++) {
      const folded = this.scores[k * this.picture.size + pixel];
      const weight = this.data.spectra.step * (folded & 1 ? -(folded + 1) / 2 : folded / 2);
      if (weight) for (let b = 0; b < this.bands; b++) spectrum[b] += weight * this.basis[k * this.bands + b];
    }
    return spectrum;
  }

  fitted(pixel) {
    const spectrum = new Float32Array(this.bands);
    this.abundances.forEach((values, k) => {
      for (let b = 0; b < this.bands; b++) spectrum[b] += values[pixel] * this.endmembers[k * this.bands + b];
    });
    return spectrum;
  }

  choose(row, column) {
    const clamp = (value, size) => Math.max(0, Math.min(size - 1, Math.round(value) || 0));
    row = clamp(row, this.picture.rows);
    column = clamp(column, this.picture.columns);
    for (const view of this.views) view.place(row, column);
    this.zoom.follow((column + 0.5) / this.picture.columns, (row + 0.5) / this.picture.rows);
    document.getElementById("row").value = row;
    document.getElementById("column").value = column;
    const pixel = this.picture.at(row, column);
    const lines = pixel < 0 ? [] : [
      this.#line("measured", this.measured(pixel), 0, { colour: "var(--ink)", dash: "" }),
      this.#line("fit", this.fitted(pixel), 1, { colour: "var(--look1)", dash: "6 4" }),
    ];
    this.#showSpectrum({ title: "Spectrum of the chosen pixel", x: { label: this.data.axis }, y: { label: "value", zero: true }, lines });
    this.#showShares(pixel);
    document.getElementById("summary").textContent = this.#sentence(row, column, pixel);
  }

  #showSpectrum(spec) {
    if (this.spectrum) this.spectrum.show(spec);
    else this.spectrum = new LineChart(document.getElementById("spectrum"), spec, { table: false, height: 260 });
  }

  #showShares(pixel) {
    const shares = document.getElementById("shares");
    const values = pixel < 0 ? this.abundances.map(() => 0) : this.abundances.map((map) => map[pixel]);
    const low = Math.min(0, ...values), high = Math.max(this.full, ...values);
    const percent = (value) => (100 * (value - low)) / (high - low);
    shares.hidden = pixel < 0;
    shares.replaceChildren(...values.map((value, k) => {
      const [from, to] = [percent(Math.min(0, value)), percent(Math.max(0, value))];
      const fill = element("i", { style: `left:${from}%;width:${to - from}%;background:${lookColour(k)}` });
      return element("div", { className: "share" }, element("span", { title: this.data.names[k] }, this.data.names[k]), element("div", { className: "track" }, fill), element("output", {}, this.#share(value)));
    }));
  }

  // The stored steps are no finer than 1/4095 of a map's range: three digits after the point.
  #share(value) {
    return Math.abs(value) >= 1000 ? format(value) : value.toFixed(Math.abs(value) >= 10 ? 1 : 3).replace("-", "−");
  }

  #sentence(row, column, pixel) {
    if (pixel < 0) return `Row ${row}, column ${column}: no data.`;
    const values = this.abundances.map((map) => map[pixel]);
    const most = values.indexOf(Math.max(...values));
    return `Row ${row}, column ${column}: most of ${this.data.names[most]} (${this.#share(values[most])}); residual norm ${format(this.residuals[pixel])}, spectral angle ${format(this.angles[pixel])}°.`;
  }
}

ScenePage.open(JSON.parse(document.getElementById("data").textContent))
  .then((page) => { window.page = page; document.documentElement.dataset.ready = "yes"; })
  .catch(complain);
