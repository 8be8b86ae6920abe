// What the page can do beside being read: other axes, zoom, values, hiding, sorting, downloads.
// These files make one script, in the order of rendering.py; numbers come with the page, in #data.
const SVG = "http://www.w3.org/2000/svg";
const data = JSON.parse(document.getElementById("data").textContent);

// Layout, as in simfl/report/charts/svg.py: margins of a picture, the width of a digit beside it, the
// height of a label and the room between two.
const LEFT = 56, RIGHT = 14, TOP = 14, BOTTOM = 48, TICK = 7.3, SIDE = 21, NOTE = 13, APART = 8;

const esc = s => String(s).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
const num = v => v.toFixed(1).replace(/\.0$/, "");
const shortened = (s, most) => {
  const half = (most - 1) >> 1;
  return s.length <= most ? s : s.slice(0, most - 1 - half) + "…" + s.slice(-half);
};
const set = (node, attributes) => {
  for (const [k, v] of Object.entries(attributes)) node.setAttribute(k, v);
  return node;
};
const el = (tag, attributes = {}, text = "") => {
  const made = set(document.createElement(tag), attributes);
  made.textContent = text;
  return made;
};
const drawable = (tag, attributes = {}) => set(document.createElementNS(SVG, tag), attributes);
// A list to choose from, after its label; `changed` is given the place of what was chosen.
function chooser(label, names, attributes, chosen, changed) {
  const box = el("select", {"aria-label": label, ...attributes});
  names.forEach((name, i) => box.appendChild(el("option", {value: i}, name)));
  box.value = chosen;
  box.addEventListener("change", () => changed(Number(box.value)));
  const wrap = el("label", {}, label + " ");
  wrap.appendChild(box);
  return wrap;
}
