// A table of any two factors of a sweep: means over everything else, darker where they are higher.
function pivot(home, {factors, measures, rows}) {
  const state = {row: 0, column: factors.length > 1 ? 1 : factors.length, show: 0};
  const table = el("table"), bar = el("div", {class: "bar"});
  const scroll = el("div",
    {class: "scroll", tabindex: 0, role: "region", "aria-label": "table of two factors"});
  scroll.append(table);
  home.append(bar, scroll);
  const fill = () => {
    const down = factors[state.row], measure = measures[state.show];
    const across = state.column === state.row ? null : factors[state.column] || null;
    const columns = across ? across.levels : [""];
    const cells = down.levels.map((_, i) => columns.map((_, j) => cellOf(rows
      .filter(r => r.at[state.row] === i && (!across || r.at[state.column] === j)), state.show)));
    const means = cells.flat().map(c => c.mean).filter(v => v !== null);
    const low = Math.min(...means), high = Math.max(...means);
    const cellHtml = cell => {
      const shade = cell.mean === null || high === low ? 0 : (cell.mean - low) / (high - low);
      return `<td class="heat" style="--h:${shade.toFixed(3)}" title="${cell.runs} runs">`
        + `${esc(meant(cell, measure))}</td>`;
    };
    const about = `${measure.label} by ${down.name}${across ? " and " + across.name : ""}`;
    const corner = down.name + (across ? " \\ " + across.name : "");
    const heads = [corner, ...columns].map(s => `<th scope="col">${esc(s)}</th>`).join("");
    table.innerHTML = `<caption>${esc(about)}: means over everything else</caption>`
      + `<thead><tr>${heads}</tr></thead><tbody>`
      + cells.map((line, i) => `<tr><th scope="row">${esc(down.levels[i])}</th>`
        + line.map(cellHtml).join("") + "</tr>").join("") + "</tbody>";
  };
  const choose = (label, key, names) => {
    const chosen = at => { state[key] = at; fill(); };
    bar.append(chooser(label, names, {"data-pivot": key}, state[key], chosen));
  };
  choose("show", "show", measures.map(m => m.label));
  choose("rows", "row", factors.map(f => f.name));
  choose("columns", "column", [...factors.map(f => f.name), "none"]);
  fill();
}
// Runs of the same levels, some of which may lack a number; those that go on may still get it.
function cellOf(runs, show) {
  const lacking = runs.filter(r => r.values[show] === null), count = runs.length;
  const sum = runs.reduce((all, r) => all + r.values[show], 0);
  const mean = count && !lacking.length ? sum / count : null;
  return {runs: count, lacking: lacking.length, open: lacking.some(r => r.open), mean};
}
function meant({runs, lacking, open, mean}, measure) {
  if (!runs) return "–";
  if (mean !== null) return told(measure, mean);
  const never = open ? "not yet" : "never";
  if (lacking < runs) return `${lacking} of ${runs} ${measure.target ? never : "none"}`;
  return measure.target ? never : "–";
}
const levels = document.getElementById("levels");
if (levels) pivot(document.getElementById("pivot"), JSON.parse(levels.textContent));
