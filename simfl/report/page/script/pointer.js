// What a pointer, a finger and keys do in a picture: bring up values, choose a stretch of x.
const tip = document.body.appendChild(el("div", {class: "tip", role: "status", hidden: ""}));
function show(html, x, y) {
  tip.innerHTML = html; tip.hidden = false;
  const box = tip.getBoundingClientRect(), wide = document.documentElement.clientWidth;
  tip.style.left = `${Math.max(4, Math.min(x + 14, wide - box.width - 6))}px`;
  const below = y + 16 + box.height <= innerHeight;
  tip.style.top = `${Math.max(4, below ? y + 16 : y - box.height - 10)}px`;
}
// What a finger brought up stays when it is lifted, until the next touch or scroll.
let letGo = () => {};
for (const event of ["pointerdown", "scroll"]) {
  addEventListener(event, () => { letGo(); letGo = () => {}; }, true);
}

// `p`: a picture, its plot from the pixel `left`; `tell` returns what is said of a value (null: the
// shapes say it themselves); `zoom` is given a range, or null.
function listen(svg, p, tell, zoom) {
  svg.setAttribute("tabindex", "0");
  // Browsers would show titles beside what is shown here.
  for (const title of svg.querySelectorAll("title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  const edge = () => p.width - RIGHT, rule = svg.appendChild(drawable("path", {class: "rule"}));
  const within = u => Math.min(Math.max(u, p.left), edge());
  const plot = {svg, p, tell, zoom, rule, edge, within, bottom: p.height - BOTTOM};
  plot.toValue = u => {
    const share = (within(u) - p.left) / (edge() - p.left), {low, high} = p.x;
    return p.x.log ? low * (high / low) ** share : low + share * (high - low);
  };
  plot.point = (u, x, y) => {
    if (!tell) return;
    rule.setAttribute("d", `M${num(u)},${TOP}V${plot.bottom}`);
    show(tell(plot.toValue(u)), x, y);
  };
  plot.leave = () => { tip.hidden = true; rule.setAttribute("d", ""); };
  listenToPointer(plot);
  listenToKeys(plot);
}
function listenToPointer({svg, p, zoom, within, bottom, toValue, point, leave}) {
  const box = svg.appendChild(drawable("rect", {class: "zoom"}));
  const place = e => {
    const b = svg.getBoundingClientRect();
    return (e.clientX - b.left) * p.width / b.width;
  };
  let from = null;  // where a stretch begins that is being chosen
  const over = e => {
    const u = within(place(e));
    if (from !== null) {
      const [a, b] = [Math.min(from, u), Math.max(from, u)];
      set(box, {x: a, y: TOP, width: b - a, height: bottom - TOP});
    }
    point(u, e.clientX, e.clientY);
  };
  const drop = () => { from = null; box.setAttribute("width", 0); };
  svg.addEventListener("pointermove", over);
  svg.addEventListener("pointerdown", e => {
    if (e.pointerType === "mouse") { from = Math.max(place(e), p.left); return; }
    svg.focus({preventScroll: true});  // now: what it leaves hides its values
    over(e);
  });
  svg.addEventListener("pointerup", e => {
    if (from === null) return;
    const u = place(e), range = [toValue(Math.min(from, u)), toValue(Math.max(from, u))];
    const far = Math.abs(u - from) > 8;  // less is a click
    drop();
    if (far) { leave(); zoom(range); }
  });
  svg.addEventListener("pointerleave", e => {
    drop();
    if (e.pointerType === "touch") letGo = leave; else leave();
  });
  svg.addEventListener("pointercancel", leave);
  svg.addEventListener("dblclick", () => zoom(null));
}
function listenToKeys({svg, p, tell, zoom, rule, edge, within, toValue, point, leave}) {
  let at = null, nth = -1;  // the pixel, or the shape, that keys have gone to
  const fromShapeToShape = by => {  // whose values a pointer would bring up
    const shapes = [...svg.querySelectorAll("[data-tip]")].filter(s => s.style.display !== "none");
    if (!shapes.length) return;
    nth = Math.min(shapes.length - 1, Math.max(0, nth + by));
    const {x, y, width, height} = shapes[nth].getBBox(), b = shapes[nth].getBoundingClientRect();
    rule.setAttribute("d", `M${x},${y}h${width}v${height}h${-width}Z`);
    show(esc(shapes[nth].dataset.tip), b.left + b.width / 2, b.top + b.height / 2);
  };
  const along = by => {
    const b = svg.getBoundingClientRect();
    at = at === null ? p.left : within(at + by);
    point(at, b.left + at * b.width / p.width, b.top + b.height / 3);
  };
  const aside = way => {
    const step = way * (edge() - p.left) / 50;
    if (tell) along(step);
    else if (p.zoomed) zoom([p.beyond(p.left + 5 * step), p.beyond(edge() + 5 * step)]);
    else fromShapeToShape(way);
  };
  const keys = {
    ArrowRight: () => aside(1), ArrowLeft: () => aside(-1),
    "+": () => {
      const middle = at === null ? (p.left + edge()) / 2 : at, half = (edge() - p.left) * 0.3;
      leave(); zoom([toValue(middle - half), toValue(middle + half)]);
    },
    "-": () => { leave(); zoom(null); }, Escape: () => { leave(); zoom(null); },
  };
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", e => {
    if (!Object.hasOwn(keys, e.key)) return;
    keys[e.key]();
    if (e.key.startsWith("Arrow")) e.preventDefault();  // it would scroll the page
  });
}
