// A map in a window: it grows inside, and is moved by dragging, scrolling or walking on it.

const MOST_ZOOM = 16;

class Zoom {
  constructor(view, { nearer, farther, fit, level }) {
    this.view = view;
    this.window = view.root.parentElement;
    this.level = level;
    this.factor = 1;
    nearer.addEventListener("click", () => this.by(1.5));
    farther.addEventListener("click", () => this.by(1 / 1.5));
    fit.addEventListener("click", () => this.to(1));
    this.window.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.window.addEventListener("keydown", (event) => this.#key(event));
    this.controls = { nearer, farther, fit };
    this.to(1);
  }

  by(ratio, place) {
    this.to(this.factor * ratio, place);
  }

  // `place`: what stays where it is, in pixels of the window; the chosen pixel unless said.
  to(factor, place = this.#chosen()) {
    const before = this.factor;
    this.factor = Math.max(1, Math.min(MOST_ZOOM, Math.abs(factor - 1) < 0.05 ? 1 : factor));
    const grown = this.factor / before;
    const left = (this.window.scrollLeft + place[0]) * grown - place[0];
    const top = (this.window.scrollTop + place[1]) * grown - place[1];
    this.view.root.style.width = `${100 * this.factor}%`;
    this.window.scrollTo({ left, top, behavior: "instant" });
    this.window.classList.toggle("zoomed", this.factor > 1);
    this.view.pan = this.factor > 1 ? (dx, dy) => this.window.scrollBy({ left: dx, top: dy, behavior: "instant" }) : null;
    this.level.textContent = `${format(this.factor)}×`;
    this.controls.farther.disabled = this.controls.fit.disabled = this.factor === 1;
    this.controls.nearer.disabled = this.factor === MOST_ZOOM;
  }

  // Where the chosen pixel is in the window; the middle of the window where it is outside.
  #chosen() {
    const [mark, box] = [this.view.mark, this.window].map((node) => node.getBoundingClientRect());
    const [x, y] = [mark.left + mark.width / 2 - box.left, mark.top + mark.height / 2 - box.top];
    const inside = x >= 0 && y >= 0 && x <= box.width && y <= box.height;
    return inside ? [x, y] : [box.width / 2, box.height / 2];
  }

  // Bring a place of the picture, in shares of its width and height, into the window.
  follow(x, y) {
    if (this.factor === 1) return;
    const inside = (start, size, at, room) => (at < start + room || at > start + size - room ? at - size / 2 : start);
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.window;
    this.window.scrollTo({
      left: inside(scrollLeft, clientWidth, x * clientWidth * this.factor, 12),
      top: inside(scrollTop, clientHeight, y * this.view.root.clientHeight, 12),
      behavior: "instant",
    });
  }

  // The wheel alone scrolls the page; with Ctrl, as in most maps, it zooms.
  #wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = this.window.getBoundingClientRect();
    this.by(Math.exp(-Math.sign(event.deltaY) * 0.25), [event.clientX - box.left, event.clientY - box.top]);
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const act = { "+": () => this.by(1.5), "=": () => this.by(1.5), "-": () => this.by(1 / 1.5), 0: () => this.to(1) }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}
