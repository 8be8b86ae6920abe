// The figures of the page, and the controls of each.
const MANY = 5;  // things in a legend; of more, one reader wants to see two
const begin = () => ({x: 0, y: 0, logx: false, logy: false, single: false, together: false,
  zoom: null, hidden: new Set()});

const figures = [...document.querySelectorAll("figure")].map(node => {
  const plot = node.querySelector(".plot"), chart = data[node.dataset.chart] || null;
  const figure = {node, plot, chart, table: data[node.dataset.table] || null,
    still: plot.innerHTML, state: begin()};
  figure.reset = button({"data-whole": "", hidden: ""}, "whole range");
  const still = chart ? [] : [...plot.querySelectorAll("svg[data-x]")];
  figure.zooms = still.map(svg => stretch(figure, svg));
  if (chart || figure.zooms.length) {
    node.querySelector("figcaption").title = "drag in the chart, or press + and -, to zoom";
  }
  figure.reset.addEventListener("click", () => {
    figure.state.zoom = null;
    if (chart) draw(figure); else figure.zooms.forEach(zoom => zoom(null));
  });
  const bar = el("div", {class: "bar"});
  bar.append(...(chart ? switches(figure, bar) : []), figure.reset,
    ...(chart ? [] : [enlarging(node)]), ...downloads(figure));
  plot.before(bar);
  const turns = [...node.querySelectorAll(".legend li")].map((item, i) => turning(figure, item, i));
  if (turns.length > MANY) bar.insertBefore(turningAll(figure, turns), figure.reset);
  if (chart) listenToAll(figure); else tellShapes(plot);
  return figure;
});

function button(attributes, text) { return el("button", {type: "button", ...attributes}, text); }
// Which axes, and how curves are drawn.
function switches(figure, bar) {
  const {chart} = figure;
  const made = [];
  const pick = (label, axes, key) => {
    if (axes.length < 2) return;
    made.push(chooser(label, axes.map(a => a.label), {"data-axis": key}, 0, chosen => {
      Object.assign(figure.state, {[key]: chosen, zoom: null}, key === "y" ? {logy: false} : {});
      const logy = figure.state.logy !== chart.ys[figure.state.y].log;
      bar.querySelector("[data-switch=logy]").checked = logy;
      draw(figure);
    }));
  };
  const tick = (label, key) => {
    const box = el("input", {type: "checkbox", "data-switch": key}), wrap = el("label");
    const comes = () => key === "logy" && chart.ys[figure.state.y].log;
    box.checked = comes();
    box.addEventListener("change", () => {
      Object.assign(figure.state, {[key]: box.checked !== comes(), zoom: null});
      draw(figure);
    });
    wrap.append(box, " " + label);
    made.push(wrap);
  };
  pick("show", chart.ys, "y"); pick("by", chart.xs, "x");
  tick("log x", "logx"); tick("log y", "logy");
  if (chart.series.some(s => s.means)) tick("single runs", "single");
  if (chart.small) tick("in one picture", "together");
  return made;
}
function enlarging(node) {
  const made = button({"data-enlarge": "", "aria-pressed": "false"}, "enlarge");
  made.addEventListener("click", () =>
    made.setAttribute("aria-pressed", node.classList.toggle("large")));
  return made;
}
function downloads(figure) {
  const name = figure.node.querySelector("b").textContent;
  return ["png", "svg", ...(figure.chart || figure.table ? ["csv"] : [])].map(form => {
    const title = `download ${form.toUpperCase()} of ${name}`;
    const made = button({"data-save": form, title}, form.toUpperCase());
    made.addEventListener("click", () => download(figure, form));
    return made;
  });
}
// Makes an entry of the legend a button; returns what shows or hides what it stands for.
function turning(figure, item, i) {
  const {node, chart, state} = figure;
  const made = button({"aria-pressed": "true", title: "show or hide"}, "");
  made.append(...item.childNodes);
  item.appendChild(made);
  const turn = on => {
    made.setAttribute("aria-pressed", on);
    if (chart && on) state.hidden.delete(i);
    else if (chart) state.hidden.add(i);
    else for (const shape of node.querySelectorAll(".plot path, .plot rect, .plot circle")) {
      const own = [...shape.classList].filter(c => !/^(line|area|thin|band|dot|e\d)$/.test(c));
      if (own.join(" ") === item.dataset.css) shape.style.display = on ? "" : "none";
    }
  };
  made.addEventListener("click", () => {
    turn(made.getAttribute("aria-pressed") !== "true");
    if (chart) draw(figure);
  });
  return turn;
}
function turningAll(figure, turns) {
  const made = button({"data-all": "", title: "everything in the legend"}, "hide all");
  made.addEventListener("click", () => {
    const on = made.textContent === "show all";
    turns.forEach(turn => turn(on));
    made.textContent = on ? "hide all" : "show all";
    if (figure.chart) draw(figure);
  });
  return made;
}
// The pictures that the page came with, as the script would have drawn them.
function asItCame({chart}, state) {
  const [width, height] = chart.small || chart.size;
  return fociOf(chart, state, chart.small)
    .map((focus, i) => picture(chart, state, width, height, focus, i === 0));
}
function listenToAll(figure) {
  const pictures = asItCame(figure, figure.state);
  [...figure.plot.children].forEach((svg, i) => follow(figure, svg, pictures[i]));
}
function tellShapes(plot) {
  for (const event of ["pointermove", "pointerdown"]) plot.addEventListener(event, e => {
    const shape = e.target.closest("[data-tip]");
    if (shape) show(esc(shape.dataset.tip), e.clientX, e.clientY); else tip.hidden = true;
  });
}
// Charts have the width that there is.
function fit() {
  for (const f of figures) {
    const room = f.plot.clientWidth;
    if (!room) continue;
    if (!f.chart) {
      if (!f.node.classList.contains("large")) f.zooms.forEach(zoom => zoom.fit(room));
    } else {
      const [whole] = f.chart.small && !f.state.together ? f.chart.small : f.chart.size;
      const now = f.pictures && f.pictures.length ? f.pictures[0].width : whole;
      if (room < now - 4 || (now < whole && room > now + 4)) draw(f);
    }
  }
}
addEventListener("resize", fit);
