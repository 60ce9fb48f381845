// A map as a picture to keep: with its title above and its legend below, on white.

const IMAGE_WIDTH = 1000;
const IMAGE_FONT = "16px system-ui, sans-serif";

// legend: {low, high, unit, above} for a ramp, {swatches: [[colour, name], …]}, or {text}
function imageOf(map, title, legend) {
  const scale = Math.max(1, Math.round(IMAGE_WIDTH / map.width));
  const width = Math.max(map.width * scale, 480);
  const lines = legendLines(legend, width - 32);
  const canvas = element("canvas", { width, height: 48 + map.height * scale + 20 + 26 * lines.length });
  const context = canvas.getContext("2d");
  context.fillStyle = "#ffffff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = "#16202b";
  context.font = `600 ${IMAGE_FONT}`;
  context.fillText(title, 16, 30, width - 32);
  context.imageSmoothingEnabled = false;
  context.drawImage(map, Math.floor((width - map.width * scale) / 2), 48, map.width * scale, map.height * scale);
  context.font = IMAGE_FONT;
  lines.forEach((line, i) => line(context, 48 + map.height * scale + 14 + 26 * i));
  return canvas;
}

function legendLines(legend, room) {
  if (legend.text) return [(context, top) => context.fillText(legend.text, 16, top + 14, room)];
  if (legend.swatches) return swatchLines(legend.swatches, room);
  const unit = legend.unit || "";
  return [(context, top) => {
    const [low, high] = [format(legend.low) + unit, (legend.above ? "≥ " : "") + format(legend.high) + unit];
    const from = 16 + context.measureText(low).width + 10;
    const to = 16 + room - context.measureText(high).width - 10;
    context.fillText(low, 16, top + 14);
    context.fillText(high, to + 10, top + 14);
    for (let x = from; x < to; x++) {
      const [r, g, b] = RAMP_TABLE[Math.floor((255 * (x - from)) / (to - from))];
      context.fillStyle = `rgb(${r} ${g} ${b})`;
      context.fillRect(x, top + 3, 1.5, 12);
    }
  }];
}

function swatchLines(swatches, room) {
  const measure = element("canvas").getContext("2d");
  measure.font = IMAGE_FONT;
  const rows = [[]];
  let x = 0;
  for (const [colour, name] of swatches) {
    const wide = 24 + measure.measureText(name).width + 18;
    if (x + wide > room && x > 0) { rows.push([]); x = 0; }
    rows.at(-1).push([x, colour, name]);
    x += wide;
  }
  return rows.map((row) => (context, top) => {
    for (const [at, colour, name] of row) {
      context.fillStyle = colour;
      context.fillRect(16 + at, top + 1, 15, 15);
      context.fillStyle = "#16202b";
      context.fillText(name, 16 + at + 22, top + 14, room - at - 24);
    }
  });
}

function saveImage(canvas, name) {
  canvas.toBlob((blob) => {
    const link = element("a", { href: URL.createObjectURL(blob), download: `${fileName(name)}.png` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  });
}

const fileName = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "map";
