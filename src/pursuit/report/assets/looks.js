// As many colours as there are things to tell apart: eight by hand (page.css), more computed.

const BY_HAND = 8;
const lookColour = (k) => `var(--look${k})`;

class Looks {
  static wanted = BY_HAND;

  // From now on there are at least n colours, in either theme.
  static ensure(n) {
    if (n <= Looks.wanted) return;
    Looks.wanted = n;
    Looks.paint();
  }

  static values() {
    const style = getComputedStyle(document.documentElement);
    return Array.from({ length: Looks.wanted }, (_, k) => style.getPropertyValue(`--look${k}`).trim());
  }

  // Each further colour is the one of all candidates that is farthest from those there are.
  static paint() {
    const root = document.documentElement;
    const style = getComputedStyle(root);
    const grounds = ["--bg", "--card"].map((name) => Looks.#luminance(Looks.#linear(style.getPropertyValue(name).trim())));
    const taken = Array.from({ length: BY_HAND }, (_, k) => Looks.#oklab(Looks.#linear(style.getPropertyValue(`--look${k}`).trim())));
    const candidates = Looks.#candidates(grounds);
    for (let k = BY_HAND; k < Looks.wanted; k++) {
      const distance = ({ lab }) => Math.min(...taken.map((other) => Math.hypot(...lab.map((v, i) => v - other[i]))));
      const best = candidates.reduce((a, b) => (distance(b) > distance(a) ? b : a));
      taken.push(best.lab);
      root.style.setProperty(`--look${k}`, best.hex);
    }
  }

  // Colours of many hues, strengths and lightnesses that stand out from the page by 3 to 1.
  static #candidates(grounds) {
    const found = [];
    for (let lightness = 0.3; lightness < 0.95; lightness += 0.05) {
      for (const chroma of [0.04, 0.1, 0.16, 0.22]) {
        for (let hue = 0; hue < 360; hue += 10) {
          const angle = (hue * Math.PI) / 180;
          const lab = [lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)];
          const rgb = Looks.#fromOklab(lab);
          if (rgb.some((c) => c < 0 || c > 1)) continue;
          const own = Looks.#luminance(rgb);
          const contrast = (other) => (Math.max(own, other) + 0.05) / (Math.min(own, other) + 0.05);
          if (grounds.every((ground) => contrast(ground) >= 3.05)) found.push({ lab, hex: Looks.#hex(rgb) });
        }
      }
    }
    return found;
  }

  static #linear(hex) {
    return [1, 3, 5].map((i) => {
      const c = parseInt(hex.slice(i, i + 2), 16) / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
  }

  static #hex(rgb) {
    const byte = (c) => Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055));
    return `#${rgb.map((c) => byte(c).toString(16).padStart(2, "0")).join("")}`;
  }

  static #luminance([r, g, b]) {
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  // Oklab, in which distances are those that the eye sees.
  static #oklab([r, g, b]) {
    const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
    const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
    const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    return [
      0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
      1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
      0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
    ];
  }

  static #fromOklab([L, a, b]) {
    const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
    return [
      4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
      -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
      -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
    ];
  }
}

document.addEventListener("themechange", () => Looks.paint());
