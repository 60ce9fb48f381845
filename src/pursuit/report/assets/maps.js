// Pictures on canvas: one entry a pixel, colours from a ramp, and a mark on the chosen one.

// Dark blue to yellow through green, evenly lighter all the way: read by colour-blind people too.
const RAMP = [[0x1b, 0x12, 0x4b], [0x2a, 0x3f, 0x87], [0x22, 0x6e, 0x94], [0x23, 0x97, 0x8d], [0x54, 0xbb, 0x70], [0xab, 0xd6, 0x4d], [0xfb, 0xe7, 0x4e]];

function rampColour(t) {
  const place = Math.max(0, Math.min(1, t)) * (RAMP.length - 1);
  const i = Math.min(Math.floor(place), RAMP.length - 2);
  return RAMP[i].map((c, k) => Math.round(c + (place - i) * (RAMP[i + 1][k] - c)));
}
const RAMP_TABLE = Array.from({ length: 256 }, (_, i) => rampColour(i / 255));

// Which pixel of the data lies where in the picture; −1: none.
class Picture {
  constructor([rows, columns], mask) {
    this.rows = rows;
    this.columns = columns;
    this.index = new Int32Array(rows * columns).fill(-1);
    let found = 0;
    for (let place = 0; place < this.index.length; place++) {
      if (mask[place >> 3] & (128 >> (place & 7))) this.index[place] = found++;
    }
    this.size = found;
  }

  at(row, column) {
    return this.index[row * this.columns + column];
  }

  paint(canvas, colour) {
    canvas.width = this.columns;
    canvas.height = this.rows;
    const context = canvas.getContext("2d");
    const image = context.createImageData(this.columns, this.rows);
    for (let place = 0; place < this.index.length; place++) {
      if (this.index[place] < 0) continue;
      const [red, green, blue] = colour(this.index[place]);
      image.data.set([red, green, blue, 255], 4 * place);
    }
    context.putImageData(image, 0, 0);
  }
}

const byRamp = (values, { low, high }) => (i) => RAMP_TABLE[Math.max(0, Math.min(255, Math.round((255 * (values[i] - low)) / (high - low || 1))))];

function rampLegend({ low, high, above }, unit = "") {
  const canvas = element("canvas", { width: 256, height: 1 });
  const context = canvas.getContext("2d");
  RAMP_TABLE.forEach(([r, g, b], i) => { context.fillStyle = `rgb(${r} ${g} ${b})`; context.fillRect(i, 0, 1, 1); });
  canvas.setAttribute("aria-hidden", "true");
  return element("div", { className: "ramp" }, element("span", {}, format(low) + unit), canvas, element("span", {}, (above ? "≥ " : "") + format(high) + unit));
}

// A map that can be pointed at and walked on; `choose(row, column)` is told.
class MapView {
  constructor(parent, picture, label, choose) {
    this.picture = picture;
    this.canvas = element("canvas");
    this.mark = element("div", { className: "mark" });
    this.root = element("div", {
      className: "map", tabIndex: 0, role: "application", "aria-roledescription": "map",
      "aria-label": `${label}. Arrow keys move the chosen pixel.`,
    }, this.canvas, this.mark);
    parent.append(this.root);
    this.choose = choose;
    this.pan = null;
    this.root.addEventListener("pointerdown", (event) => this.#press(event));
    this.root.addEventListener("pointermove", (event) => { if (event.buttons & 1) this.#drag(event); });
    this.root.addEventListener("pointerup", (event) => this.#release(event));
    this.root.addEventListener("pointercancel", () => { this.held = null; });
    this.root.addEventListener("keydown", (event) => this.#key(event));
  }

  // Dragging chooses pixel after pixel; where the map can be moved, it moves it, and only a press
  // that stays where it is chooses. Fingers move it by scrolling.
  #press(event) {
    if (!this.pan) this.#point(event);
    else this.held = { x: event.clientX, y: event.clientY, moved: false };
    if (this.pan && event.pointerType === "mouse") this.root.setPointerCapture(event.pointerId);
  }

  #drag(event) {
    if (!this.pan) this.#point(event);
    if (!this.pan || !this.held || event.pointerType !== "mouse") return;
    const [dx, dy] = [this.held.x - event.clientX, this.held.y - event.clientY];
    if (!this.held.moved && Math.hypot(dx, dy) < 4) return;
    this.held = { x: event.clientX, y: event.clientY, moved: true };
    this.pan(dx, dy);
  }

  #release(event) {
    if (this.pan && this.held && !this.held.moved) this.#point(event);
    this.held = null;
  }

  paint(colour) {
    this.picture.paint(this.canvas, colour);
  }

  place(row, column) {
    this.row = row;
    this.column = column;
    this.mark.style.left = `${(100 * (column + 0.5)) / this.picture.columns}%`;
    this.mark.style.top = `${(100 * (row + 0.5)) / this.picture.rows}%`;
  }

  #point(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * this.picture.columns);
    const row = Math.floor(((event.clientY - box.top) / box.height) * this.picture.rows);
    this.choose(row, column);
  }

  #key(event) {
    const step = event.shiftKey ? 10 : 1;
    const moves = { ArrowUp: [-step, 0], ArrowDown: [step, 0], ArrowLeft: [0, -step], ArrowRight: [0, step] };
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.choose(this.row + move[0], this.column + move[1]);
  }
}
