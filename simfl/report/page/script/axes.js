// Axes, as simfl/report/axes.py makes them, and values for people in their units.
const PLAIN = [1e-4, 1e6];  // numbers between these are written without a power of ten

function unitOf(units, high) {
  const least = i => i && units[i][1] < 100 * units[i - 1][1] ? 2 : 1;  // min, h and d
  const fitting = units.filter((u, i) => high >= least(i) * u[1]);
  return fitting.length ? fitting[fitting.length - 1] : units.length ? units[0] : ["", 1];
}
const grouped = (v, digits) => v.toLocaleString("en-US",
  {minimumFractionDigits: digits, maximumFractionDigits: digits});
const labelled = (a, symbol) => symbol ? `${a.label} (${symbol})` : a.label;

function axis(a, steps, log, range, outward) {
  const [low, high] = range || [log ? a.positive : a.low, a.high];
  if (log) return logarithmic(a, range ? Math.max(low, a.positive) : low, high, outward && !range);
  return linear(a, low, high, steps);
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
  return {label: labelled(a, symbol), low, high, ticks, unit: [symbol, per],
    place: v => (v - low) / (high - low)};
}
// Multiples of a step, with as many digits as tell them apart; and 1, 2 or 5 times a power of ten.
function written(values, step) {
  const most = Math.max(0, ...values.map(Math.abs)), fine = Math.floor(Math.log10(step) + 1e-9);
  if (most === 0 || most >= PLAIN[0] && most < PLAIN[1]) {
    return values.map(v => grouped(v, Math.max(0, -fine)));
  }
  const power = Math.floor(Math.log10(most) + 1e-9), digits = Math.max(0, power - fine);
  return values.map(v => v ? `${(v / 10 ** power).toFixed(digits)}e${power}` : "0");
}
function plain(v) {
  if (v * (1 + 1e-9) >= PLAIN[0] && v * (1 + 1e-9) < PLAIN[1]) {
    return Number(v.toPrecision(10)).toLocaleString("en-US", {maximumFractionDigits: 9});
  }
  const power = Math.floor(Math.log10(v) + 1e-9);
  return `${(v / 10 ** power).toFixed(0)}e${power}`;
}
// `outward`: from a rounded number to a rounded number.
function logarithmic(a, low, high, outward = false) {
  const [symbol, per] = unitOf(a.units, Math.max(Math.sqrt(low * high), Math.min(high, 100 * low)));
  const first = Math.floor(Math.log10(low / per) + 1e-9);
  const last = Math.ceil(Math.log10(high / per) - 1e-9);
  const marks = last - first <= 2 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.floor((last - first) / 6));
  const ticks = [], rounded = [];
  for (let d = first; d <= last; d++) for (const m of [1, 2, 5]) rounded.push(m * 10 ** d * per);
  if (outward) {
    [low, high] = [Math.max(...rounded.filter(v => v <= low)),
      Math.min(...rounded.filter(v => v >= high))];
  }
  for (let d = first; d <= last; d += every) for (const m of marks) {
    const v = m * 10 ** d;
    if (v * per >= low * 0.999 && v * per <= high * 1.001) {
      ticks.push([v * per, a.kind === "share" ? plain(100 * v) + "%" : plain(v)]);
    }
  }
  if (!(high > low)) high = low * 10;
  return {label: labelled(a, symbol), low, high, ticks, log: true, unit: [symbol, per],
    place: v => v > 0 ? Math.log(v / low) / Math.log(high / low) : NaN};
}
// A value for people, in the unit that suits it, or in a given one: numbers beside each other share
// theirs.  Of zero, the base unit.
function told(a, v, unit = unitOf(a.units, Math.abs(v) || 2)) {
  if (a.kind === "share") return (100 * v).toFixed(1) + "%";
  const [symbol, per] = unit;
  const n = Number((v / per).toPrecision(4)), size = Math.abs(n);
  const text = n === 0 || size >= PLAIN[0] && size < PLAIN[1]
    ? n.toLocaleString("en-US", {maximumFractionDigits: 7}) : n.toExponential().replace("+", "");
  return text + (symbol ? " " + symbol : "");
}
