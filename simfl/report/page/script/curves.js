// Charts of curves, drawn anew as their reader wants them; as in simfl/report/charts/curves.py.
const pathOf = points => "M" + points.map(p => `${num(p[0])},${num(p[1])}`).join("L");
const shownOf = (chart, state) => chart.series.filter((_, i) => !state.hidden.has(i));
const nameOf = (one, line) =>
  line.seed === undefined || one.runs.length < 2 ? one.name : `${one.name}, seed ${line.seed}`;
const TOLD = 14;  // so many lines are told of under the pointer
const LEAST = 240;  // pixels of a picture's width
let clips = 0;

function lines(chart, state, one) {
  const x = chart.xs[state.x].key, y = chart.ys[state.y].key;
  const mean = one.means && one.means[`${x} ${y}`];
  if (!mean || state.single) {
    return one.runs.map(run => ({x: run[x], y: run[y], seed: run.seed, thin: one.runs.length > 1}));
  }
  return [{x: mean.x, y: mean.mean, low: mean.low, high: mean.high},
    ...mean.tails.map(tail => ({...tail, thin: true, tail: true}))];
}
// From the least to the most that is seen in a stretch of x, at its ends between two points, too;
// null: nothing is.
function seen(chart, state, [from, to], log) {
  let low = Infinity, high = -Infinity;
  const see = v => {
    if (v !== null && (v > 0 || !log)) { low = Math.min(low, v); high = Math.max(high, v); }
  };
  const walk = (xs, ys) => {
    const points = xs.map((v, k) => [v, ys[k]]).filter(p => p[0] !== null && p[1] !== null);
    points.forEach(([v, y], k) => {
      if (v >= from && v <= to) see(y);
      const [before, was] = k ? points[k - 1] : [v, y];
      for (const end of [from, to]) {
        if (before < end && end < v) see(was + (y - was) * (end - before) / (v - before));
      }
    });
  };
  for (const line of shownOf(chart, state).flatMap(one => lines(chart, state, one))) {
    for (const ys of line.low ? [line.low, line.high] : [line.y]) walk(line.x, ys);
  }
  if (low > high) return null;
  const {kind, low: least} = chart.ys[state.y];
  const room = log ? 0 : 0.05 * (high - low) || 0.05 * Math.abs(high);
  const above = log ? high * 1.05 : high + room;
  return [least < 0 ? low - room : Math.max(0, low - room),
    kind === "share" && !log ? Math.min(1, above) : above];
}

// Of several pictures, each about its `focus`, the `first` keeps what lies behind all of them.
function picture(chart, state, width, height, focus, first) {
  const view = scaled(chart, state, width, height);
  const {x, y} = view, heading = focus === null ? "" : chart.series[focus].name;
  const title = (heading ? heading + ": " : "")
    + `${chart.ys[state.y].label} by ${chart.xs[state.x].label}`;
  const ends = [x, y].filter(a => a.ticks.length)
    .map(a => `${a.label} from ${a.ticks[0][1]} to ${a.ticks[a.ticks.length - 1][1]}`);
  const about = `viewBox="0 0 ${width} ${height}" width="${width}" role="img"`;
  const letters = heading ? Math.floor(chart.heading * width / chart.small[0]) : 0;
  const inside = curves(chart, state, view, focus, first);
  const svg = `<svg ${about} aria-label="${esc(title)}">`
    + `<desc>${esc(`Axes: ${ends.join(", ")}.`)}</desc>`
    + frame(view, shortened(heading, letters)) + marks(chart, state, view)
    + clipped(view, state.zoom || x.log || y.log, inside) + "</svg>";
  return {svg, x, y, left: view.left, width, height, focus};
}
// The axes of a picture, and where they put a value.
function scaled(chart, state, width, height) {
  const ya = chart.ys[state.y], logy = state.logy !== ya.log;  // logy: other than it comes
  const x = axis(chart.xs[state.x], Math.max(2, Math.round(width / 95)), state.logx, state.zoom);
  const range = state.zoom && seen(chart, state, state.zoom, logy);
  const y = axis(ya, height > 250 ? 6 : 4, logy, range, true);
  const right = width - RIGHT, bottom = height - BOTTOM;
  const longest = Math.max(0, ...y.ticks.map(t => t[1].length));
  const left = Math.max(LEFT, Math.ceil(SIDE + TICK * longest));
  return {x, y, width, left, right, bottom,
    px: v => left + x.place(v) * (right - left), py: v => bottom - y.place(v) * (bottom - TOP)};
}
const text = (x, y, s, css) => `<text class="${css}" x="${num(x)}" y="${num(y)}">${esc(s)}</text>`;
const shape = (css, d) => `<path class="${css}" d="${d}"></path>`;
const uprightTick = (u, s, bottom, width) => shape("grid", `M${num(u)},${TOP}V${bottom}`)
  + (u + 3.6 * s.length < width ? text(u, bottom + 15, s, "tick mid")
    : text(width - 1, bottom + 15, s, "tick end"));

function frame({x, y, px, py, width, left, right, bottom}, heading) {
  const turned = `translate(12,${((TOP + bottom) / 2).toFixed(0)}) rotate(-90)`;
  return x.ticks.map(([v, s]) => uprightTick(px(v), s, bottom, width)).join("")
    + y.ticks.map(([v, s]) => shape("grid", `M${left},${num(py(v))}H${right}`)
      + text(left - 6, py(v) + 4, s, "tick end")).join("")
    + text((left + right) / 2, bottom + 34, x.label, "name mid")
    + `<text class="name mid" transform="${turned}">${esc(y.label)}</text>`
    + (heading ? text(left, TOP - 4, heading, "heading") : "");
}
// Targets, which lie across, and forks, upright.  Labels of targets close together stand side by
// side.
function marks(chart, state, {x, y, px, py, left, right, bottom}) {
  const key = chart.ys[state.y].key;
  const targets = chart.marks.filter(m => m.y === key && m.value >= y.low && m.value <= y.high);
  const notes = [];
  const note = (up, s) => {
    const near = notes.filter(([at]) => Math.abs(at - up) < NOTE).map(([, begins]) => begins);
    const end = Math.min(right - 4, ...near);
    notes.push([up, end - TICK * s.length - APART]);
    return text(end, up - 4, s, "note end");
  };
  const forks = chart.xs[state.x].key === "time" ? chart.forks : [];
  return targets.reverse().map(m => shape("mark", `M${left},${num(py(m.value))}H${right}`)
      + note(py(m.value), m.text)).join("")
    + forks.filter(v => v >= x.low && v <= x.high).map(v => {
      const early = x.place(v) < 0.8, css = `note${early ? "" : " end"} upright`;
      return shape("mark", `M${num(px(v))},${TOP}V${bottom}`)
        + text(px(v) + (early ? 4 : -4), TOP + 10, "fork", css);
    }).join("");
}
function clipped({left, right, bottom}, cut, inside) {
  if (!cut) return inside;
  const clip = `clip${++clips}`, size = `width="${right - left}" height="${bottom - TOP}"`;
  return `<clipPath id="${clip}"><rect x="${left}" y="${TOP}" ${size}/></clipPath>`
    + `<g clip-path="url(#${clip})">${inside}</g>`;
}
function curves(chart, state, view, focus, first) {
  const others = `others-${chart.name}`, drawn = new Map();
  const all = (series, css) =>
    series.map(one => curve(one, lines(chart, state, one), view, css || one.css, drawn)).join("");
  if (focus === null) return all(shownOf(chart, state));
  const behind = first ? `<g id="${others}">${all(shownOf(chart, state), "other")}</g>`
    : `<use class="others" href="#${others}"></use>`;
  return behind + all([chart.series[focus]]);
}
// `drawn`: how often a line was; the next one lies on it, and it shows between the dashes of that.
function curve(one, all, {px, py}, css, drawn) {
  const own = css !== "other";
  let out = "";
  for (const line of own ? all : all.filter(line => !line.tail)) {
    const placed = ys => line.x
      .map((v, k) => [px(v), ys[k] === null || v === null ? NaN : py(ys[k])])
      .filter(p => isFinite(p[0]) && isFinite(p[1]));
    if (line.low && own) {
      const around = [...placed(line.high), ...placed(line.low).reverse()];
      out += shape(`band ${css}`, pathOf(around) + "Z");
    }
    const points = placed(line.y), alone = points.length === 1;
    if (!points.length) continue;
    const d = pathOf(points), below = drawn.get(d) || 0;
    if (own) drawn.set(d, below + 1);
    const dashes = alone ? " dot" : own && below ? ` e${Math.min(below, 3)}` : "";
    const look = `line ${css}${line.thin && own ? " thin" : ""}${dashes}`;
    const title = `<title>${esc(nameOf(one, line))}</title>`;
    out += `<path class="${look}" d="${d}${alone ? "h0" : ""}">${title}</path>`;
  }
  return out;
}

function fociOf(chart, state, small) {
  if (!small) return [null];
  return chart.series.map((_, i) => i).filter(i => !state.hidden.has(i)).slice(0, chart.pictures);
}
function draw(figure) {
  const {chart, state, plot} = figure;
  const small = chart.small && !state.together;
  plot.classList.toggle("small", Boolean(small));
  const [most, height] = small ? chart.small : chart.size;
  const width = Math.max(LEAST, Math.min(most, plot.clientWidth || most));
  figure.pictures = fociOf(chart, state, small)
    .map((focus, i) => picture(chart, state, width, height, focus, i === 0));
  const held = [...plot.children].indexOf(document.activeElement);
  plot.innerHTML = figure.pictures.map(p => p.svg).join("");
  [...plot.children].forEach((svg, i) => follow(figure, svg, figure.pictures[i]));
  figure.reset.hidden = !state.zoom;
  if (held >= 0 && plot.children[held]) plot.children[held].focus({preventScroll: true});
}
function follow(figure, svg, p) {
  const zoom = range => { figure.state.zoom = range; draw(figure); };
  listen(svg, p, v => values(figure, p, v), zoom);
}
// What the lines of a picture have where x is nearest to `v`, as HTML.
function values({chart, state}, p, v) {
  const xa = chart.xs[state.x], ya = chart.ys[state.y];
  const up = y => told(ya, y, p.y.unit);
  const across = x => told(xa, xa.kind === "count" ? Math.round(x) : x, p.x.unit);
  const rows = [];
  for (const one of p.focus === null ? shownOf(chart, state) : [chart.series[p.focus]]) {
    for (const line of lines(chart, state, one)) {
      const k = nearest(line, v);
      if (k < 0 || (line.tail && v < line.x[0])) continue;
      const there = across(line.x[k]), elsewhere = there !== across(v);
      const end = Math.max(...line.x.filter((x, n) => x !== null && line.y[n] !== null));
      const ended = line.x[k] === end && end < v && elsewhere;
      const band = line.low ? ` (${up(line.low[k])} to ${up(line.high[k])})` : "";
      const where = elsewhere ? ` <span>${ended ? "ended " : ""}at ${there}</span>` : "";
      const name = `<i class="key ${one.css}"></i>${esc(nameOf(one, line))}`;
      rows.push([ended, line.y[k], `<li>${name}: <b>${up(line.y[k])}</b>${band}${where}</li>`]);
    }
  }
  rows.sort((a, b) => a[0] - b[0] || b[1] - a[1]);  // lines that ended before come last
  const more = rows.length - TOLD;
  return `<b>${esc(xa.label)} ${across(v)}</b>`
    + `<ul>${rows.slice(0, TOLD).map(r => r[2]).join("")}</ul>`
    + (more > 0 ? `<span>and ${more} below them</span>` : "");
}
function nearest(line, v) {
  let best = -1;
  line.x.forEach((x, k) => {
    if (x === null || line.y[k] === null) return;
    if (best < 0 || Math.abs(x - v) < Math.abs(line.x[best] - v)) best = k;
  });
  return best;
}
