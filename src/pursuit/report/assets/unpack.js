// The other side of packing.py.

const ARRAYS = { uint8: Uint8Array, uint16: Uint16Array, int16: Int16Array, float32: Float32Array };

async function inflate(text) {
  const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// First bytes of all entries, second bytes of all entries, … back to numbers.
async function unpack({ type, shape, data }) {
  const planes = await inflate(data);
  const array = new ARRAYS[type](shape.reduce((a, b) => a * b, 1));
  const bytes = new Uint8Array(array.buffer);
  const size = array.BYTES_PER_ELEMENT;
  for (let b = 0; b < size; b++) {
    const start = b * array.length;
    for (let i = 0; i < array.length; i++) bytes[i * size + b] = planes[start + i];
  }
  return array;
}

async function unpackMap({ low, step, levels }) {
  const found = await unpack(levels);
  return Float32Array.from(found, (level) => low + step * level);
}

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in node && name !== "role") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// A number for people: three digits, no more zeros than needed.
function format(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replace("e+", "e").replace("-", "−").replace("e-", "e−");
  return String(Number(value.toPrecision(size >= 100 ? 4 : 3))).replace("-", "−");
}

function complain(error) {
  const trouble = document.getElementById("trouble");
  trouble.textContent = "DecompressionStream" in window
    ? `This page could not be drawn: ${error.message}`
    : "This browser is too old for this page: it needs one of 2023 or later.";
  trouble.hidden = false;
  console.error(error);
}
