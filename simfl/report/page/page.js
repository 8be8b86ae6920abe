// What the page can do beside being read: other axes, zoom, values, hiding, sorting, downloads.
// The numbers are in #data; drawing follows simfl/report/svg.py, axes.py and charts/curves.py.
"use strict";
(() => {
const LEFT = 56, RIGHT = 14, TOP = 14, BOTTOM = 48, TITLE = 32, MANY = 5, TICK = 7.3, SIDE = 21;
const PLAIN = [1e-4, 1e6], TOLD = 14;
const SVG = "http://www.w3.org/2000/svg";
const data = JSON.parse(document.getElementById("data").textContent);
const esc = s => String(s).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
const num = v => v.toFixed(1).replace(/\.0$/, "");
const shortened = (s, most) => {
  const half = (most - 1) >> 1;
  return s.length <= most ? s : s.slice(0, most - 1 - half) + "…" + s.slice(-half);
};
const el = (tag, attributes = {}, text = "") => {
  const made = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) made.setAttribute(k, v);
  made.textContent = text;
  return made;
};
const group = (v, digits) => v.toLocaleString("en-US",
  {minimumFractionDigits: digits, maximumFractionDigits: digits});

// Axes -----------------------------------------------------------------------------------------
function unitOf(units, high) {
  const fitting = units.filter(u => high >= 2 * u[1]);
  return fitting.length ? fitting[fitting.length - 1] : units.length ? units[0] : ["", 1];
}
function linear(a, low, high, steps) {
  if (!(high > low)) high = low + (Math.abs(low) || 1);
  const [symbol, per] = unitOf(a.units, high);
  const raw = (high - low) / per / steps, power = 10 ** Math.floor(Math.log10(raw));
  const round = [1, 2, 5, 10].map(n => n * power).find(s => s >= raw * 0.9999);
  const step = a.kind === "count" ? Math.max(round, 1) : round;
  const share = a.kind === "share", times = share ? 100 : 1, values = [];
  for (let i = Math.ceil(low / per / step - 1e-9); i <= low / per / step
       + (high - low) / per / step + 1e-9; i++) {
    values.push(i * step + 0);
  }
  const texts = written(values.map(v => times * v), times * step);
  const ticks = values.map((v, i) => [v * per, texts[i] + (share ? "%" : "")]);
  return {label: symbol ? `${a.label} (${symbol})` : a.label, low, high, ticks, unit: [symbol, per],
    place: v => (v - low) / (high - low)};
}
// Multiples of a step, with as many digits as tell them apart; and 1, 2 or 5 times a power of ten.
function written(values, step) {
  const most = Math.max(0, ...values.map(Math.abs)), fine = Math.floor(Math.log10(step) + 1e-9);
  if (most === 0 || most >= PLAIN[0] && most < PLAIN[1]) return values.map(v => group(v, Math.max(0, -fine)));
  const power = Math.floor(Math.log10(most) + 1e-9);
  return values.map(v => v ? `${(v / 10 ** power).toFixed(Math.max(0, power - fine))}e${power}` : "0");
}
function plain(v) {
  if (v * (1 + 1e-9) >= PLAIN[0] && v * (1 + 1e-9) < PLAIN[1])
    return Number(v.toPrecision(10)).toLocaleString("en-US", {maximumFractionDigits: 9});
  const power = Math.floor(Math.log10(v) + 1e-9);
  return `${(v / 10 ** power).toFixed(0)}e${power}`;
}
function logarithmic(a, low, high, outward = false) {
  const [symbol, per] = unitOf(a.units, Math.sqrt(low * high));
  const first = Math.floor(Math.log10(low / per) + 1e-9), last = Math.ceil(Math.log10(high / per) - 1e-9);
  const marks = last - first <= 2 ? [1, 2, 5] : [1], every = Math.max(1, Math.floor((last - first) / 6));
  const ticks = [], rounded = [];
  for (let d = first; d <= last; d++) for (const m of [1, 2, 5]) rounded.push(m * 10 ** d * per);
  if (outward) [low, high] = [Math.max(...rounded.filter(v => v <= low)), Math.min(...rounded.filter(v => v >= high))];
  for (let d = first; d <= last; d += every) for (const m of marks) {
    const v = m * 10 ** d;
    if (v * per >= low * 0.999 && v * per <= high * 1.001)
      ticks.push([v * per, a.kind === "share" ? plain(100 * v) + "%" : plain(v)]);
  }
  if (!(high > low)) high = low * 10;
  return {label: symbol ? `${a.label} (${symbol})` : a.label, low, high, ticks, log: true, unit: [symbol, per],
    place: v => v > 0 ? Math.log(v / low) / Math.log(high / low) : NaN};
}
function axis(a, steps, log, range, outward) {
  if (log) return logarithmic(a, range ? Math.max(range[0], a.positive) : a.positive, range ? range[1] : a.high, outward && !range);
  return linear(a, range ? range[0] : a.low, range ? range[1] : a.high, steps);
}
// A value for people, in the unit that suits it, or in a given one: numbers beside each other share theirs. Of zero, the base unit.
function told(a, v, unit = unitOf(a.units, Math.abs(v) || 2)) {
  if (a.kind === "share") return (100 * v).toFixed(1) + "%";
  const [symbol, per] = unit;
  const n = Number((v / per).toPrecision(4)), size = Math.abs(n);
  const text = n === 0 || size >= PLAIN[0] && size < PLAIN[1]
    ? n.toLocaleString("en-US", {maximumFractionDigits: 7}) : n.toExponential().replace("+", "");
  return text + (symbol ? " " + symbol : "");
}

// Drawing --------------------------------------------------------------------------------------
const pathOf = points => "M" + points.map(p => `${num(p[0])},${num(p[1])}`).join("L");
function lines(chart, state, one) {
  const x = chart.xs[state.x].key, y = chart.ys[state.y].key;
  const mean = one.means && one.means[`${x} ${y}`];
  if (mean && !state.single) return [{x: mean.x, y: mean.mean, low: mean.low, high: mean.high},
    ...mean.tails.map(tail => ({...tail, thin: true, tail: true}))];
  return one.runs.map(run => ({x: run[x], y: run[y], seed: run.seed, thin: one.runs.length > 1}));
}
// From the least to the most that is seen in a stretch of x, its ends between two points too; null: nothing is.
function seen(chart, state, [from, to], log) {
  let low = Infinity, high = -Infinity;
  const see = v => { if (v !== null && (v > 0 || !log)) { low = Math.min(low, v); high = Math.max(high, v); } };
  for (const one of chart.series.filter((_, i) => !state.hidden.has(i))) for (const line of lines(chart, state, one))
    for (const ys of line.low ? [line.low, line.high] : [line.y]) {
      const points = line.x.map((v, k) => [v, ys[k]]).filter(p => p[0] !== null && p[1] !== null);
      points.forEach(([v, y], k) => {
        if (v >= from && v <= to) see(y);
        const [before, was] = k ? points[k - 1] : [v, y];
        for (const end of [from, to]) if (before < end && end < v) see(was + (y - was) * (end - before) / (v - before));
      });
    }
  const {kind, low: least} = chart.ys[state.y], room = log ? 0 : 0.05 * (high - low) || 0.05 * Math.abs(high);
  if (low > high) return null;
  return [least < 0 ? low - room : Math.max(0, low - room), log ? high * 1.05 : kind === "share" ? Math.min(1, high + room) : high + room];
}
let clips = 0;
// Of several pictures, each about its `focus`, the `first` keeps what lies behind all of them.
function picture(chart, state, width, height, focus, first) {
  const xa = chart.xs[state.x], ya = chart.ys[state.y];
  const x = axis(xa, Math.max(2, Math.round(width / 95)), state.logx, state.zoom);
  const logy = state.logy !== ya.log;  // logy: other than it comes
  const y = axis(ya, height > 250 ? 6 : 4, logy, state.zoom && seen(chart, state, state.zoom, logy), true);
  const right = width - RIGHT, bottom = height - BOTTOM;
  const left = Math.max(LEFT, Math.ceil(SIDE + TICK * Math.max(0, ...y.ticks.map(t => t[1].length))));
  const px = v => left + x.place(v) * (right - left), py = v => bottom - y.place(v) * (bottom - TOP);
  const text = (tx, ty, s, css) => `<text class="${css}" x="${num(tx)}" y="${num(ty)}">${esc(s)}</text>`;
  let out = "";
  for (const [v, s] of x.ticks) {
    const at = px(v);
    out += `<path class="grid" d="M${num(at)},${TOP}V${bottom}"></path>`;
    out += at + 3.6 * s.length < width ? text(at, bottom + 15, s, "tick mid") : text(width - 1, bottom + 15, s, "tick end");
  }
  for (const [v, s] of y.ticks) {
    out += `<path class="grid" d="M${left},${num(py(v))}H${right}"></path>` + text(left - 6, py(v) + 4, s, "tick end");
  }
  out += text((left + right) / 2, bottom + 34, x.label, "name mid");
  out += `<text class="name mid" transform="translate(12,${((TOP + bottom) / 2).toFixed(0)}) rotate(-90)">${esc(y.label)}</text>`;
  if (focus !== null) out += text(left, TOP - 4, shortened(chart.series[focus].name, chart.heading), "heading");
  for (const mark of chart.marks) if (mark.y === ya.key && mark.value >= y.low && mark.value <= y.high) {
    out += `<path class="mark" d="M${left},${num(py(mark.value))}H${right}"></path>` + text(right - 4, py(mark.value) - 4, mark.text, "note end");
  }
  for (const v of xa.key === "time" ? chart.forks : []) if (v >= x.low && v <= x.high) {
    const early = x.place(v) < 0.8;
    out += `<path class="mark" d="M${num(px(v))},${TOP}V${bottom}"></path>` + text(px(v) + (early ? 4 : -4), TOP + 10, "fork", `note${early ? "" : " end"} upright`);
  }
  const clip = `clip${++clips}`, cut = state.zoom || x.log || y.log;
  if (cut) out += `<clipPath id="${clip}"><rect x="${left}" y="${TOP}" width="${right - left}" height="${bottom - TOP}"/></clipPath><g clip-path="url(#${clip})">`;
  const drawn = new Map();  // lines, and how often: the next lies on them, and they show between its dashes
  const curve = (one, css) => {
    for (const line of lines(chart, state, one)) {
      if (line.tail && css === "other") continue;
      const at = (ys) => line.x.map((v, k) => [px(v), ys[k] === null || v === null ? NaN : py(ys[k])]).filter(p => isFinite(p[0]) && isFinite(p[1]));
      if (line.low && css !== "other") {
        const d = pathOf([...at(line.high), ...at(line.low).reverse()]);
        out += `<path class="band ${css}" d="${d}Z"></path>`;
      }
      const points = at(line.y);
      const name = line.seed === undefined || one.runs.length < 2 ? one.name : `${one.name}, seed ${line.seed}`;
      const alone = points.length === 1;
      if (!points.length) continue;
      const d = pathOf(points), below = drawn.get(d) || 0, own = css !== "other";
      if (own) drawn.set(d, below + 1);
      const more = (line.thin && own ? " thin" : "") + (alone ? " dot" : own && below ? ` e${Math.min(below, 3)}` : "");
      out += `<path class="line ${css}${more}" d="${d}${alone ? "h0" : ""}"><title>${esc(name)}</title></path>`;
    }
  };
  const shown = chart.series.filter((_, i) => !state.hidden.has(i)), others = `others-${chart.name}`;
  if (first && focus !== null) { out += `<g id="${others}">`; shown.forEach(one => curve(one, "other")); out += "</g>"; }
  else if (focus !== null) out += `<use class="others" href="#${others}"></use>`;
  for (const one of focus === null ? shown : [chart.series[focus]]) curve(one, one.css);
  if (cut) out += "</g>";
  const title = (focus === null ? "" : chart.series[focus].name + ": ") + `${ya.label} by ${xa.label}`;
  const ends = [x, y].filter(a => a.ticks.length).map(a => `${a.label} from ${a.ticks[0][1]} to ${a.ticks[a.ticks.length - 1][1]}`);
  const desc = `Axes: ${ends.join(", ")}.`;
  return {svg: `<svg viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${esc(title)}"><desc>${esc(desc)}</desc>${out}</svg>`, x, y, px, py, left, width, height, focus};
}
function fociOf(chart, state, small) {
  return small ? chart.series.map((_, i) => i).filter(i => !state.hidden.has(i)).slice(0, chart.pictures) : [null];
}
function draw(figure) {
  const {chart, state, plot} = figure;
  const small = chart.small && !state.together;
  plot.classList.toggle("small", Boolean(small));
  const room = plot.clientWidth || chart.size[0];
  const [width, height] = small ? chart.small : [Math.max(300, Math.min(chart.size[0], room)), chart.size[1]];
  figure.pictures = fociOf(chart, state, small).map((f, i) => picture(chart, state, width, height, f, i === 0));
  const held = [...plot.children].indexOf(document.activeElement);
  plot.innerHTML = figure.pictures.map(p => p.svg).join("");
  [...plot.children].forEach((svg, i) => follow(figure, svg, figure.pictures[i]));
  figure.reset.hidden = !state.zoom;
  if (held >= 0 && plot.children[held]) plot.children[held].focus({preventScroll: true});
}
function follow(figure, svg, p) {
  listen(svg, p, v => values(figure, p, v), range => { figure.state.zoom = range; draw(figure); });
}

// Values under the pointer, zoom ----------------------------------------------------------------
const tip = document.body.appendChild(el("div", {class: "tip", role: "status", hidden: ""}));
function show(html, x, y) {
  tip.innerHTML = html; tip.hidden = false;
  const box = tip.getBoundingClientRect(), wide = document.documentElement.clientWidth;
  tip.style.left = `${Math.max(4, Math.min(x + 14, wide - box.width - 6))}px`;
  tip.style.top = `${Math.max(4, y + 16 + box.height > innerHeight ? y - box.height - 10 : y + 16)}px`;
}
// What a finger brought up stays when it is lifted, until the next touch or scroll.
let letGo = () => {};
for (const event of ["pointerdown", "scroll"]) addEventListener(event, () => { letGo(); letGo = () => {}; }, true);
function at(line, v) {
  let best = -1;
  line.x.forEach((x, k) => { if (x !== null && line.y[k] !== null && (best < 0 || Math.abs(x - v) < Math.abs(line.x[best] - v))) best = k; });
  return best;
}
function values(figure, p, v) {
  const {chart, state} = figure, xa = chart.xs[state.x], ya = chart.ys[state.y];
  const rows = [], up = y => told(ya, y, p.y.unit);
  const across = x => told(xa, xa.kind === "count" ? Math.round(x) : x, p.x.unit);
  chart.series.forEach((one, i) => {
    if (state.hidden.has(i) || (p.focus !== null && p.focus !== i)) return;
    for (const line of lines(chart, state, one)) {
      const k = at(line, v);
      if (k < 0 || (line.tail && v < line.x[0])) continue;
      const name = one.name + (line.seed !== undefined && one.runs.length > 1 ? `, seed ${line.seed}` : "");
      const band = line.low ? ` (${up(line.low[k])} to ${up(line.high[k])})` : "";
      const there = across(line.x[k]), end = Math.max(...line.x.filter((x, n) => x !== null && line.y[n] !== null));
      const ended = line.x[k] === end && end < v && there !== across(v);
      const where = there === across(v) ? "" : ` <span>${ended ? "ended " : ""}at ${there}</span>`;
      rows.push([ended, line.y[k], `<li><i class="key ${one.css}"></i>${esc(name)}: <b>${up(line.y[k])}</b>${band}${where}</li>`]);
    }
  });
  rows.sort((a, b) => a[0] - b[0] || b[1] - a[1]);  // lines that ended before come last
  return `<b>${esc(xa.label)} ${across(v)}</b><ul>${rows.slice(0, TOLD).map(r => r[2]).join("")}</ul>${rows.length > TOLD ? `<span>and ${rows.length - TOLD} below them</span>` : ""}`;
}
// `tell` returns what is said of a value (null: the shapes say it themselves); `zoom` is given a range, or null.
function listen(svg, p, tell, zoom) {
  svg.setAttribute("tabindex", "0");
  // Browsers would show titles beside what is shown here.
  for (const title of svg.querySelectorAll("title")) { title.parentNode.dataset.tip = title.textContent; title.remove(); }
  const LEFT = p.left, bottom = p.height - BOTTOM, edge = () => p.width - RIGHT;
  const toValue = u => {
    const share = (Math.min(Math.max(u, LEFT), edge()) - LEFT) / (edge() - LEFT), {low, high} = p.x;
    return p.x.log ? low * (high / low) ** share : low + share * (high - low);
  };
  const place = e => { const b = svg.getBoundingClientRect(); return (e.clientX - b.left) * p.width / b.width; };
  const rule = svg.appendChild(document.createElementNS(SVG, "path"));
  const box = svg.appendChild(document.createElementNS(SVG, "rect"));
  rule.setAttribute("class", "rule"); box.setAttribute("class", "zoom");
  let from = null, key = null, nth = -1;
  const point = (u, cx, cy) => {
    if (!tell) return;
    rule.setAttribute("d", `M${num(u)},${TOP}V${bottom}`);
    show(tell(toValue(u)), cx, cy);
  };
  const walk = by => {  // from shape to shape, whose values a pointer would bring up
    const shapes = [...svg.querySelectorAll("[data-tip]")].filter(shape => shape.style.display !== "none");
    if (!shapes.length) return;
    nth = Math.min(shapes.length - 1, Math.max(0, nth + by));
    const {x, y, width, height} = shapes[nth].getBBox(), b = shapes[nth].getBoundingClientRect();
    rule.setAttribute("d", `M${x},${y}h${width}v${height}h${-width}Z`);
    show(esc(shapes[nth].dataset.tip), b.left + b.width / 2, b.top + b.height / 2);
  };
  const leave = () => { tip.hidden = true; rule.setAttribute("d", ""); };
  const over = e => {
    const u = Math.min(Math.max(place(e), LEFT), edge());
    if (from !== null) {
      const [a, b] = [Math.min(from, u), Math.max(from, u)];
      for (const [k, v] of [["x", a], ["y", TOP], ["width", b - a], ["height", bottom - TOP]]) box.setAttribute(k, v);
    }
    point(u, e.clientX, e.clientY);
  };
  svg.addEventListener("pointermove", over);
  svg.addEventListener("pointerdown", e => {
    if (e.pointerType === "mouse") { from = Math.max(place(e), LEFT); return; }
    svg.focus({preventScroll: true});  // now: what it leaves hides its values
    over(e);
  });
  svg.addEventListener("pointerup", e => {
    if (from === null) return;
    const u = place(e), a = toValue(Math.min(from, u)), b = toValue(Math.max(from, u));
    const far = Math.abs(u - from) > 8;
    from = null;
    if (far) { box.setAttribute("width", 0); leave(); zoom([a, b]); }
  });
  svg.addEventListener("pointerleave", e => {
    from = null; box.setAttribute("width", 0);
    e.pointerType === "touch" ? letGo = leave : leave();
  });
  svg.addEventListener("pointercancel", leave);
  svg.addEventListener("dblclick", () => zoom(null));
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", e => {
    const b = svg.getBoundingClientRect(), step = (edge() - LEFT) / 50;
    if (e.key.startsWith("Arrow") && !tell) {
      const shift = {ArrowRight: 5 * step, ArrowLeft: -5 * step}[e.key];
      if (shift && p.zoomed) { zoom([p.beyond(LEFT + shift), p.beyond(edge() + shift)]); e.preventDefault(); }
      else if (shift) { walk(Math.sign(shift)); e.preventDefault(); }
    } else if (e.key === "ArrowRight" || e.key === "ArrowLeft") {
      key = key === null ? LEFT : Math.min(edge(), Math.max(LEFT, key + (e.key === "ArrowRight" ? step : -step)));
      point(key, b.left + key * b.width / p.width, b.top + b.height / 3);
      e.preventDefault();
    } else if (e.key === "+" || e.key === "-") {
      const middle = key === null ? (LEFT + edge()) / 2 : key, half = (edge() - LEFT) * 0.3;
      leave(); zoom(e.key === "+" ? [toValue(middle - half), toValue(middle + half)] : null);
    } else if (e.key === "Escape") { leave(); zoom(null); }
  });
}

// Charts that are drawn once: their shapes are moved along x, and other ticks are set; on narrow screens, too.
function stretch(figure, svg) {
  const whole = JSON.parse(svg.dataset.x), {left} = whole, {width, height} = svg.viewBox.baseVal;
  const label = svg.querySelector("text.name:not([transform])"), least = left + 160;
  let edge = width - RIGHT, shown = null;
  const right = width - RIGHT, bottom = height - BOTTOM, ticks = svg.querySelector(".xs"), area = svg.querySelector(".area");
  const a = {label: "", units: [["", whole.per]], kind: whole.kind}, before = ticks.innerHTML;
  const shapes = [...area.querySelectorAll("path, rect, circle, text.upright")].map(shape =>
    [shape, Object.fromEntries(["d", "x", "width", "cx"].map(name => [name, shape.getAttribute(name)]))]);
  const clip = `still${++clips}`, to = whole.log ? Math.log : v => v, of = whole.log ? Math.exp : v => v;
  area.insertAdjacentHTML("beforebegin", `<clipPath id="${clip}"><rect x="${left}" y="0" width="${right - left}" height="${height}"/></clipPath>`);
  const first = to(whole.low), last = to(whole.high), place = v => left + (to(v) - first) / (last - first) * (right - left);
  const p = {left, width, height, x: {...whole}, zoomed: false};
  p.beyond = u => of(to(p.x.low) + (u - left) / (edge - left) * (to(p.x.high) - to(p.x.low)));
  const zoom = range => {
    let [low, high] = (range || [whole.low, whole.high]).map(to);
    const span = Math.min(high - low, last - first);
    low = Math.min(Math.max(low, first), last - span); high = low + span;
    Object.assign(p.x, {low: of(low), high: of(high)});
    p.zoomed = Boolean(range); figure.state.zoom = shown = range && [p.x.low, p.x.high];
    figure.reset.hidden = !range;
    const other = range || edge < right;
    const from = place(p.x.low), factor = (last - first) / (high - low) * (edge - left) / (right - left), move = u => left + (u - from) * factor;
    const moved = {
      d: d => d.includes("H") ? d : d.replace(/(-?[\d.]+),/g, (_, u) => `${num(move(Number(u)))},`),
      x: u => num(move(Number(u))), cx: u => num(move(Number(u))), width: wide => num(wide * factor)};
    for (const [shape, original] of shapes) {
      for (const [name, value] of Object.entries(original))
        if (value !== null) shape.setAttribute(name, other ? moved[name](value) : value);
      range ? shape.setAttribute("clip-path", `url(#${clip})`) : shape.removeAttribute("clip-path");
    }
    if (!other) { ticks.innerHTML = before; return; }
    const steps = Math.max(edge < right ? 4 : 2, Math.round((edge - left) / 95));
    const room = (edge - left) / (high - low), named = whole.names && whole.names.map(([v, s]) => [v, shortened(s, Math.max(3, Math.floor(room / TICK)))]);
    const marks = named || (whole.log && p.x.high > 8 * p.x.low ? logarithmic(a, p.x.low, p.x.high) : linear(a, p.x.low, p.x.high, steps)).ticks;
    ticks.innerHTML = marks.filter(([v]) => v >= p.x.low && v <= p.x.high).map(([v, s]) => {
      const u = move(place(v)), fits = u + 3.6 * s.length < p.width;
      return `<path class="grid" d="M${num(u)},${TOP}V${bottom}"></path>`
        + `<text class="tick ${fits ? "mid" : "end"}" x="${num(fits ? u : p.width - 1)}" y="${bottom + 15}">${esc(s)}</text>`;
    }).join("");
  };
  zoom.fit = room => {
    const wide = Math.min(width, Math.max(room, least));
    if (Math.abs(wide - p.width) < 4 && wide !== width || wide === p.width) return;
    p.width = wide; edge = wide - RIGHT;
    svg.setAttribute("viewBox", `0 0 ${wide} ${height}`); svg.setAttribute("width", wide);
    svg.querySelector(`#${clip} rect`).setAttribute("width", edge - left);
    if (label) label.setAttribute("x", num((left + edge) / 2));
    svg.querySelectorAll("path.grid").forEach(line => line.setAttribute("d", line.getAttribute("d").replace(/H.*/, `H${num(edge)}`)));
    zoom(shown);
  };
  listen(svg, p, null, zoom);
  return zoom;
}

// Downloads -------------------------------------------------------------------------------------
const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "font", "text-anchor",
  "stroke-linejoin", "stroke-linecap", "paint-order"];
function standalone(svg) {
  const copy = svg.cloneNode(true), from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((node, i) => { const s = getComputedStyle(node); for (const name of STYLES) to[i].style.setProperty(name, s.getPropertyValue(name)); });
  copy.querySelectorAll(".rule, .zoom").forEach(node => node.remove());
  copy.querySelectorAll("[data-tip]").forEach(node => {
    node.appendChild(document.createElementNS(SVG, "title")).textContent = node.dataset.tip;
    node.removeAttribute("data-tip");
  });
  return copy;
}
// What stands around a chart on the page: its title and the legend of what is shown.
function around(figure, width, height) {
  const ruler = el("canvas").getContext("2d"), family = getComputedStyle(document.body).fontFamily;
  const fitted = (s, room) => { while (s.length > 1 && ruler.measureText(s).width > room) s = s.slice(0, -2) + "…"; return s; };
  ruler.font = `650 14px ${family}`;
  let out = `<text class="title" x="12" y="22">${esc(fitted(figure.node.querySelector("figcaption b").textContent, width - 24))}</text>`;
  ruler.font = `12.5px ${family}`;
  let x = 12, y = TITLE + height + 14;
  for (const item of figure.node.querySelectorAll(".legend li")) {
    if (item.querySelector("[aria-pressed=false]")) continue;
    const css = item.dataset.css, name = fitted(item.textContent, width - 48), wide = ruler.measureText(name).width + 38;
    if (x > 12 && x + wide > width) { x = 12; y += 18; }
    out += /^c\d/.test(css) ? `<path class="line ${css}" d="M${num(x)},${y - 4}h18"></path>`
      : `<rect class="${css}" x="${num(x)}" y="${y - 10}" width="12" height="12"></rect>`;
    out += `<text class="row" x="${num(x + 24)}" y="${y}">${esc(name)}</text>`;
    x += wide;
  }
  const made = figure.plot.appendChild(document.createElementNS(SVG, "svg"));
  made.innerHTML = out;
  const copy = standalone(made);
  made.remove();
  return [copy, x > 12 ? y + 10 : TITLE + height];
}
// All pictures of a figure in one, as on light paper whatever the reader's screen is.
function joined(figure) {
  document.documentElement.classList.add("light");
  const all = [...figure.plot.querySelectorAll("svg")].map(svg => [standalone(svg), svg.viewBox.baseVal]);
  const columns = Math.min(all.length, 3), w = Math.max(...all.map(a => a[1].width)), h = Math.max(...all.map(a => a[1].height));
  const rows = Math.ceil(all.length / columns), paper = getComputedStyle(figure.node).backgroundColor;
  const out = document.createElementNS(SVG, "svg"), [words, bottom] = around(figure, w * columns, h * rows);
  const size = [w * columns, bottom], put = (svg, of) => { for (const [k, v] of Object.entries(of)) svg.setAttribute(k, v); };
  put(out, {xmlns: SVG, width: size[0], height: size[1], viewBox: `0 0 ${size[0]} ${size[1]}`});
  out.innerHTML = `<rect width="100%" height="100%" fill="${paper}"/>`;
  all.forEach(([svg], i) => { put(svg, {x: i % columns * w, y: TITLE + Math.floor(i / columns) * h, width: w, height: h}); out.appendChild(svg); });
  put(words, {width: size[0], height: size[1]});
  out.appendChild(words);
  document.documentElement.classList.remove("light");
  return [new XMLSerializer().serializeToString(out), size];
}
function csvOf(figure) {
  const field = v => v === null || v === undefined ? "" : /[",\n]/.test(v) ? `"${String(v).replace(/"/g, '""')}"` : v;
  const rows = figure.chart ? [] : figure.table;
  const {xs, ys, series} = figure.chart || {xs: [], ys: [], series: []};
  const columns = new Map([...xs, ...ys].map(a => [a.key, a.column])), keys = [...columns.keys()];
  if (figure.chart) rows.push(["variant", "seed", ...columns.values()]);
  for (const one of series) for (const run of one.runs) run[keys[0]].forEach((_, k) => rows.push([one.name, run.seed, ...keys.map(key => run[key][k])]));
  return rows.map(r => r.map(field).join(",")).join("\n") + "\n";
}
function save(name, url) { const a = el("a", {href: url, download: name}); a.click(); }
function download(figure, form) {
  const name = `${(figure.node.dataset.chart || figure.node.querySelector("b").textContent).toLowerCase().replace(/[^a-z0-9]+/g, "-")}.${form}`;
  const blob = (text, type) => URL.createObjectURL(new Blob([text], {type}));
  if (form === "csv") return save(name, blob(csvOf(figure), "text/csv"));
  const [svg, [w, h]] = joined(figure);
  if (form === "svg") return save(name, blob(svg, "image/svg+xml"));
  const image = new Image();
  image.onload = () => {
    const canvas = el("canvas", {width: 2 * w, height: 2 * h});
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * w, 2 * h);
    save(name, canvas.toDataURL("image/png"));
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
}

// Controls --------------------------------------------------------------------------------------
function pick(figure, bar, label, options, key) {
  if (options.length < 2) return;
  const box = el("select", {"aria-label": label, "data-axis": key});
  options.forEach((o, i) => box.appendChild(el("option", {value: i}, o.label)));
  box.addEventListener("change", () => {
    Object.assign(figure.state, {[key]: Number(box.value), zoom: null}, key === "y" ? {logy: false} : {});
    bar.querySelector("[data-switch=logy]").checked = figure.state.logy !== figure.chart.ys[figure.state.y].log;
    draw(figure);
  });
  const wrap = el("label", {}, label + " ");
  wrap.appendChild(box); bar.appendChild(wrap);
}
function tick(figure, bar, label, key) {
  const box = el("input", {type: "checkbox", "data-switch": key}), comes = () => key === "logy" && figure.chart.ys[figure.state.y].log;
  box.checked = comes();
  box.addEventListener("change", () => { figure.state[key] = box.checked !== comes(); figure.state.zoom = null; draw(figure); });
  const wrap = el("label");
  wrap.append(box, " " + label); bar.appendChild(wrap);
}
const figures = [...document.querySelectorAll("figure")].map(node => {
  const chart = data[node.dataset.chart] || null, still = node.querySelector(".plot").innerHTML;
  const figure = {node, chart, still, table: data[node.dataset.table] || null, plot: node.querySelector(".plot"),
    state: {x: 0, y: 0, logx: false, logy: false, single: false, together: false, zoom: null, hidden: new Set()}};
  const bar = el("div", {class: "bar"}), name = node.querySelector("b").textContent;
  if (chart) {
    pick(figure, bar, "show", chart.ys, "y"); pick(figure, bar, "by", chart.xs, "x");
    tick(figure, bar, "log x", "logx"); tick(figure, bar, "log y", "logy");
    if (chart.series.some(s => s.means)) tick(figure, bar, "single runs", "single");
    if (chart.small) tick(figure, bar, "in one picture", "together");
  }
  const zooms = chart ? [] : [...figure.plot.querySelectorAll("svg[data-x]")].map(svg => stretch(figure, svg));
  figure.zooms = zooms;
  const reset = figure.reset = el("button", {type: "button", "data-whole": "", hidden: ""}, "whole range");
  if (chart || zooms.length) node.querySelector("figcaption").title = "drag in the chart, or press + and -, to zoom";
  reset.addEventListener("click", () => { figure.state.zoom = null; chart ? draw(figure) : zooms.forEach(zoom => zoom(null)); });
  bar.appendChild(reset);
  if (!chart) {
    const button = el("button", {type: "button", "data-enlarge": "", "aria-pressed": "false"}, "enlarge");
    button.addEventListener("click", () => button.setAttribute("aria-pressed", node.classList.toggle("large")));
    bar.appendChild(button);
  }
  for (const form of ["png", "svg", ...(chart || figure.table ? ["csv"] : [])]) {
    const button = el("button", {type: "button", "data-save": form, title: `download ${form.toUpperCase()} of ${name}`}, form.toUpperCase());
    button.addEventListener("click", () => download(figure, form));
    bar.appendChild(button);
  }
  figure.plot.before(bar);
  const turns = [...node.querySelectorAll(".legend li")].map((item, i) => {
    const button = el("button", {type: "button", "aria-pressed": "true", title: "show or hide"});
    button.append(...item.childNodes); item.appendChild(button);
    const turn = on => {
      button.setAttribute("aria-pressed", on);
      if (chart) { on ? figure.state.hidden.delete(i) : figure.state.hidden.add(i); return; }
      node.querySelectorAll(".plot path, .plot rect, .plot circle").forEach(shape => {
        const own = [...shape.classList].filter(c => !/^(line|area|thin|band|dot|e\d)$/.test(c));
        if (own.join(" ") === item.dataset.css) shape.style.display = on ? "" : "none";
      });
    };
    button.addEventListener("click", () => { turn(button.getAttribute("aria-pressed") !== "true"); if (chart) draw(figure); });
    return turn;
  });
  if (turns.length > MANY) {  // of which one reader wants to see two
    const all = el("button", {type: "button", "data-all": "", title: "everything in the legend"}, "hide all");
    all.addEventListener("click", () => {
      const on = all.textContent === "show all";
      turns.forEach(turn => turn(on));
      all.textContent = on ? "hide all" : "show all";
      if (chart) draw(figure);
    });
    bar.insertBefore(all, reset);
  }
  if (chart) [...figure.plot.children].forEach((svg, i) => {
    const small = chart.small, [w, h] = small || chart.size;
    follow(figure, svg, picture(chart, figure.state, w, h, small ? i : null, i === 0));
  });
  else for (const event of ["pointermove", "pointerdown"]) figure.plot.addEventListener(event, e => {
    const shape = e.target.closest("[data-tip]");
    if (shape) show(esc(shape.dataset.tip), e.clientX, e.clientY); else tip.hidden = true;
  });
  return figure;
});
function fit() {
  for (const f of figures) if (!f.chart) {
    if (!f.node.classList.contains("large") && f.plot.clientWidth) f.zooms.forEach(zoom => zoom.fit(f.plot.clientWidth));
  } else if (!(f.chart.small && !f.state.together)) {
    const room = f.plot.clientWidth;
    const now = f.pictures ? f.pictures[0].width : f.chart.size[0];
    if (room && (room < now - 4 || (now < f.chart.size[0] && room > now + 4))) draw(f);
  }
}
addEventListener("resize", fit);

document.querySelectorAll("table").forEach(table => {
  const row = table.querySelector("tr.heads");
  if (!row || table.tBodies[0].rows.length < 2) return;
  [...row.cells].forEach((head, column) => {
    const button = el("button", {type: "button", title: "sort"}, head.textContent);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      [...row.cells].forEach(c => c.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = r => { const c = r.cells[column]; return c.dataset.sort === undefined ? c.textContent.trim() : Number(c.dataset.sort.replace(/inf$/, "Infinity")); };
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [u, v] = [value(a), value(b)];
        const by = typeof u === "number" && typeof v === "number" ? (isNaN(u) - isNaN(v)) || u - v : String(u).localeCompare(String(v), "en", {numeric: true});
        return down ? -by : by;
      });
      table.tBodies[0].append(...rows);
    });
  });
});
// A table of any two factors of a sweep: means over everything else, darker where they are higher.
const levels = document.getElementById("levels");
if (levels) {
  const {factors, measures, rows} = JSON.parse(levels.textContent), home = document.getElementById("pivot");
  const bar = home.appendChild(el("div", {class: "bar"})), table = el("table"), scroll = el("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "table of two factors"});
  scroll.append(table); home.append(scroll);
  const state = {row: 0, column: factors.length > 1 ? 1 : factors.length, show: 0};
  const cellOf = some => {
    const all = some.map(r => r.values[state.show]), there = all.filter(v => v !== null);
    return {mean: there.length && there.length === all.length ? there.reduce((a, b) => a + b) / all.length : null, all, there};
  };
  const pivot = () => {
    const down = factors[state.row], across = state.column < factors.length && state.column !== state.row ? factors[state.column] : null;
    const columns = across ? across.levels : [""];
    const cells = down.levels.map((_, i) => columns.map((_, j) => cellOf(rows.filter(r => r.at[state.row] === i && (!across || r.at[state.column] === j)))));
    const means = cells.flat().map(c => c.mean).filter(v => v !== null), low = Math.min(...means), high = Math.max(...means);
    const text = c => !c.all.length ? "–" : c.mean !== null ? told(measures[state.show], c.mean) : c.there.length ? `${c.all.length - c.there.length} of ${c.all.length} never` : "never";
    const shade = c => c.mean === null || high === low ? 0 : (c.mean - low) / (high - low);
    const caption = `${measures[state.show].label} by ${down.name}${across ? " and " + across.name : ""}: means over everything else`;
    table.innerHTML = `<caption>${esc(caption)}</caption><thead><tr><th scope="col">${esc(down.name)}${across ? " \\ " + esc(across.name) : ""}</th>${columns.map(c => `<th scope="col">${esc(c)}</th>`).join("")}</tr></thead><tbody>`
      + cells.map((line, i) => `<tr><th scope="row">${esc(down.levels[i])}</th>${line.map(c => `<td class="heat" style="--h:${shade(c).toFixed(3)}" title="${c.all.length} runs">${esc(text(c))}</td>`).join("")}</tr>`).join("") + "</tbody>";
  };
  const choose = (label, key, names) => {
    const box = el("select", {"aria-label": label, "data-pivot": key}), wrap = el("label", {}, label + " ");
    names.forEach((name, i) => box.appendChild(el("option", {value: i}, name)));
    box.value = state[key];
    box.addEventListener("change", () => { state[key] = Number(box.value); pivot(); });
    wrap.append(box); bar.append(wrap);
  };
  choose("show", "show", measures.map(m => m.label));
  choose("rows", "row", factors.map(f => f.name));
  choose("columns", "column", [...factors.map(f => f.name), "none"]);
  pivot();
}
// For tests: what the script would save, and draw in place of what the page came with.
window.simfl = {figures, joined, csvOf, redraw: (figure) => {
  const {chart} = figure, small = chart.small, [w, h] = small || chart.size;
  const fresh = {...figure.state, x: 0, y: 0, logx: false, logy: false, single: false, zoom: null, hidden: new Set()};
  return fociOf(chart, fresh, small).map((f, i) => picture(chart, fresh, w, h, f, i === 0).svg).join("");
}};
fit();
})();
