// What is saved of a figure: all its pictures as one SVG or PNG, its numbers as CSV.
const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity",
  "font", "text-anchor", "stroke-linejoin", "stroke-linecap", "paint-order"];
const TITLE = 32, COLUMNS = 3;  // pixels of a title above; pictures beside each other

// A copy that needs no style sheet and no script.
function standalone(svg) {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const name of STYLES) to[i].style.setProperty(name, style.getPropertyValue(name));
  });
  copy.querySelectorAll(".rule, .zoom").forEach(node => node.remove());
  copy.querySelectorAll("[data-tip]").forEach(node => {
    node.appendChild(drawable("title")).textContent = node.dataset.tip;
    node.removeAttribute("data-tip");
  });
  return copy;
}
// What stands around a chart on the page: its title and the legend of what is shown; and how high
// all of it is.
function around(figure, width, height) {
  const ruler = el("canvas").getContext("2d");
  const family = getComputedStyle(document.body).fontFamily;
  const fitted = (s, room) => {
    while (s.length > 1 && ruler.measureText(s).width > room) s = s.slice(0, -2) + "…";
    return s;
  };
  ruler.font = `650 14px ${family}`;
  const title = fitted(figure.node.querySelector("figcaption b").textContent, width - 24);
  let out = `<text class="title" x="12" y="22">${esc(title)}</text>`;
  ruler.font = `12.5px ${family}`;
  let x = 12, y = TITLE + height + 14;
  for (const item of figure.node.querySelectorAll(".legend li")) {
    if (item.querySelector("[aria-pressed=false]")) continue;
    const css = item.dataset.css, name = fitted(item.textContent, width - 48);
    const wide = ruler.measureText(name).width + 38;
    if (x > 12 && x + wide > width) { x = 12; y += 18; }
    out += /^c\d/.test(css) ? shape(`line ${css}`, `M${num(x)},${y - 4}h18`)
      : `<rect class="${css}" x="${num(x)}" y="${y - 10}" width="12" height="12"></rect>`;
    out += `<text class="row" x="${num(x + 24)}" y="${y}">${esc(name)}</text>`;
    x += wide;
  }
  const made = figure.plot.appendChild(drawable("svg"));
  made.innerHTML = out;
  const copy = standalone(made);
  made.remove();
  return [copy, x > 12 ? y + 10 : TITLE + height];
}
// All pictures of a figure in one, as on light paper whatever the reader's screen is; and its size.
function joined(figure) {
  document.documentElement.classList.add("light");
  const pictures = [...figure.plot.querySelectorAll("svg")]
    .map(svg => [standalone(svg), svg.viewBox.baseVal]);
  const columns = Math.min(pictures.length, COLUMNS), rows = Math.ceil(pictures.length / columns);
  const width = Math.max(...pictures.map(([, box]) => box.width));
  const height = Math.max(...pictures.map(([, box]) => box.height));
  const paper = getComputedStyle(figure.node).backgroundColor;
  const [words, bottom] = around(figure, width * columns, height * rows);
  const size = {width: width * columns, height: bottom};
  const viewBox = `0 0 ${size.width} ${size.height}`;
  const out = drawable("svg", {xmlns: SVG, ...size, viewBox});
  out.innerHTML = `<rect width="100%" height="100%" fill="${paper}"/>`;
  pictures.forEach(([svg], i) => {
    const [x, y] = [i % columns * width, TITLE + Math.floor(i / columns) * height];
    out.appendChild(set(svg, {x, y, width, height}));
  });
  out.appendChild(set(words, size));
  document.documentElement.classList.remove("light");
  return [new XMLSerializer().serializeToString(out), [size.width, size.height]];
}
// A row for each evaluation of each run, or the table that came with a chart that stands still.
function csvOf({chart, table}) {
  const rows = chart ? [] : table;
  if (chart) {
    const columns = new Map([...chart.xs, ...chart.ys].map(a => [a.key, a.column]));
    const keys = [...columns.keys()];
    rows.push(["variant", "seed", ...columns.values()]);
    for (const one of chart.series) for (const run of one.runs) {
      run[keys[0]].forEach((_, k) =>
        rows.push([one.name, run.seed, ...keys.map(key => run[key][k])]));
    }
  }
  const quoted = v => /[",\n]/.test(v) ? `"${String(v).replace(/"/g, '""')}"` : v;
  const field = v => v === null || v === undefined ? "" : quoted(v);
  return rows.map(row => row.map(field).join(",")).join("\n") + "\n";
}
function download(figure, form) {
  const title = figure.node.dataset.chart || figure.node.querySelector("b").textContent;
  const name = `${title.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.${form}`;
  const save = href => el("a", {href, download: name}).click();
  const blob = (text, type) => URL.createObjectURL(new Blob([text], {type}));
  if (form === "csv") return save(blob(csvOf(figure), "text/csv"));
  const [svg, [width, height]] = joined(figure);
  if (form === "svg") return save(blob(svg, "image/svg+xml"));
  const image = new Image();
  image.onload = () => {
    const canvas = el("canvas", {width: 2 * width, height: 2 * height});
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
    save(canvas.toDataURL("image/png"));
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
}
