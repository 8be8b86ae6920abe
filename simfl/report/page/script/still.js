// Charts that are drawn once: their shapes are moved along x, and other ticks are set; on narrow
// screens, too.  Returns what zooms (null: to the whole), with `fit` to a width.
const BARS = 160, NAMES = 110;  // pixels of a narrow plot, and of the names left of it
function stretch(figure, svg) {
  const whole = JSON.parse(svg.dataset.x), {left} = whole, {width, height} = svg.viewBox.baseVal;
  const label = svg.querySelector("text.name:not([transform])");
  const rows = [...svg.querySelectorAll("text.row")].map(row => [row, row.textContent]);
  const right = width - RIGHT, ticks = svg.querySelector(".xs"), before = ticks.innerHTML;
  const area = svg.querySelector(".area"), clip = `still${++clips}`;
  const shapes = [...area.querySelectorAll("path, rect, circle, text.upright")].map(shape =>
    [shape, ["d", "x", "width", "cx"].map(name => [name, shape.getAttribute(name)])]);
  area.insertAdjacentHTML("beforebegin", `<clipPath id="${clip}"><rect x="${left}" y="0" `
    + `width="${right - left}" height="${height}"/></clipPath>`);
  // Pixels are linear in values, or in their logarithms.
  const to = whole.log ? Math.log : v => v, of = whole.log ? Math.exp : v => v;
  const first = to(whole.low), last = to(whole.high);
  const place = v => left + (to(v) - first) / (last - first) * (right - left);
  const p = {left, width, height, x: {...whole}, zoomed: false};
  let start = left, edge = right, shown = null;  // start: names beside bars take less room there
  p.beyond = u => of(to(p.x.low) + (u - start) / (edge - start) * (to(p.x.high) - to(p.x.low)));

  const zoom = range => {
    let [low, high] = (range || [whole.low, whole.high]).map(to);
    const span = Math.min(high - low, last - first);
    low = Math.min(Math.max(low, first), last - span); high = low + span;
    Object.assign(p.x, {low: of(low), high: of(high)});
    p.zoomed = Boolean(range);
    figure.state.zoom = shown = range && [p.x.low, p.x.high];
    figure.reset.hidden = !range;
    const factor = (last - first) / (high - low) * (edge - start) / (right - left);
    const from = place(p.x.low), move = u => start + (u - from) * factor;
    const moved = range || edge < right ? movedBy(move, factor) : {};
    for (const [shape, original] of shapes) {
      for (const [name, value] of original) {
        if (value !== null) shape.setAttribute(name, moved[name] ? moved[name](value) : value);
      }
      if (range) shape.setAttribute("clip-path", `url(#${clip})`);
      else shape.removeAttribute("clip-path");
    }
    ticks.innerHTML = !range && edge === right ? before
      : ticksOf(whole, p.x, (edge - start) / (high - low), edge - start, edge < right)
        .map(([v, s]) => uprightTick(move(place(v)), s, height - BOTTOM, p.width)).join("");
  };
  zoom.fit = room => {
    start = rows.length ? Math.min(left, Math.max(NAMES, room - BARS)) : left;
    const wide = Math.min(width, Math.max(room, start + BARS));
    if (Math.abs(wide - p.width) < 4 && wide !== width || wide === p.width) return;
    p.width = wide; p.left = start; edge = wide - RIGHT;
    for (const [row, name] of rows) {
      row.setAttribute("x", start - 8);
      row.textContent = start < left ? shortened(name, Math.floor((start - 16) / TICK)) : name;
    }
    set(svg, {viewBox: `0 0 ${wide} ${height}`, width: wide});
    set(svg.querySelector(`#${clip} rect`), {x: start, width: edge - start});
    if (label) label.setAttribute("x", num((start + edge) / 2));
    for (const line of svg.querySelectorAll("path.grid")) {
      line.setAttribute("d", line.getAttribute("d").replace(/H.*/, `H${num(edge)}`));
    }
    zoom(shown);
  };
  listen(svg, p, null, zoom);
  return zoom;
}
// How each attribute of a shape changes where pixels of x move so.
function movedBy(move, factor) {
  const moved = u => num(move(Number(u)));
  return {
    d: d => d.includes("H") ? d : d.replace(/(-?[\d.]+),/g, (_, u) => `${moved(u)},`),
    x: moved, cx: moved, width: wide => num(wide * factor)};
}
// The ticks of a stretch of x, or what stands at its places, each in so many pixels of `room`.
function ticksOf(whole, {low, high}, room, width, narrow) {
  const a = {label: "", units: [["", whole.per]], kind: whole.kind};
  const steps = Math.max(narrow ? 4 : 2, Math.round(width / 95));
  const letters = Math.max(3, Math.floor(room / TICK));
  const ticks = whole.names ? whole.names.map(([v, s]) => [v, shortened(s, letters)])
    : whole.log && high > 8 * low ? logarithmic(a, low, high).ticks
      : linear(a, low, high, steps).ticks;
  return ticks.filter(([v]) => v >= low && v <= high);
}
