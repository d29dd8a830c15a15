"use strict";
// Draws the charts of a timeline from the figures in #data: backlog and rates on one axis of time, to scroll and zoom.
const data = JSON.parse(document.getElementById("data").textContent);
const words = data.words;
const WIDTH = 760, LEFT = 64, RIGHT = 8, TOP = 8, LOW = 20, HIGH = 190, MOST_LINES = 7;
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#777777"];
const STEPS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
const whole = [data.since_ms, Math.max(data.until_ms, data.since_ms + 1000)];
let view = [...whole], group = "", chosen = -1;
const rows = [...document.querySelectorAll("tr[data-row]")];
const charts = [document.getElementById("backlog"), document.getElementById("rates")];

function draw(parent, name, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}
const across = (ms) => LEFT + (ms - view[0]) / (view[1] - view[0]) * (WIDTH - LEFT - RIGHT);
const clock = (ms, from, to) => new Date(ms + data.offset_ms).toISOString().slice(from, to).replace("T", " ");
const short = (value) => value >= 1e6 ? +(value / 1e6).toPrecision(3) + "M"
  : value >= 1e4 ? +(value / 1e3).toPrecision(3) + "k" : +value.toPrecision(3) + "";

// The points of a line within the view, one beyond each side, at most two for each step of the axis.
function pieces(moments, values) {
  const out = [];
  let piece = [], first = 0;
  while (first + 1 < moments.length && moments[first + 1] < view[0]) first += 1;
  for (let at = first; at < moments.length; at += 1) {
    if (values[at] === null || data.gaps.some((gap) => at && moments[at - 1] <= gap[0] && gap[1] <= moments[at])) {
      if (piece.length) out.push(piece);
      piece = [];
    }
    if (values[at] !== null) piece.push([moments[at], values[at]]);
    if (moments[at] > view[1]) break;
  }
  if (piece.length) out.push(piece);
  return out;
}

function chart(svg, unit, lines) {
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HIGH + 22 * Math.ceil(lines.length / 2)}`);
  const drawn = lines.map((line) => ({...line, pieces: pieces(line.moments, line.values)}));
  const seen = drawn.flatMap((line) => line.pieces.flat()).filter((p) => p[0] >= view[0] && p[0] <= view[1]);
  const most = seen.reduce((high, point) => Math.max(high, point[1]), 0) || 1;
  const up = (value) => HIGH - LOW - value / most * (HIGH - LOW - TOP);
  const inner = draw(svg, "svg", {x: LEFT, y: 0, width: WIDTH - LEFT - RIGHT, height: HIGH - LOW,
    viewBox: `${LEFT} 0 ${WIDTH - LEFT - RIGHT} ${HIGH - LOW}`});
  draw(inner, "rect", {x: LEFT, y: 0, width: WIDTH, height: HIGH, fill: "#fff"});
  for (const gap of data.gaps) {
    const from = across(gap[0]);
    const band = draw(inner, "rect", {x: from, y: 0, width: Math.max(1, across(gap[1]) - from), height: HIGH,
      fill: "#e4e4e4", class: "gap"});
    draw(band, "title", {}, words.gap);
  }
  for (let part = 0; part <= 4; part += 1) {
    const value = most * part / 4;
    draw(svg, "line", {x1: LEFT, x2: WIDTH - RIGHT, y1: up(value), y2: up(value), stroke: "#ddd"});
    draw(svg, "text", {x: LEFT - 5, y: up(value) + 4, "text-anchor": "end"}, short(value));
  }
  const span = (view[1] - view[0]) / 1000;
  const step = 1000 * (STEPS.find((each) => span / each <= 7) || Math.ceil(span / 7 / 604800) * 604800);
  const begin = Math.ceil((view[0] + data.offset_ms) / step) * step - data.offset_ms;
  for (let ms = begin; ms <= view[1]; ms += step) {
    const label = step >= 864e5 ? clock(ms, 5, 10) : span > 864e2 ? clock(ms, 5, 16) : clock(ms, 11, step < 6e4 ? 19 : 16);
    draw(svg, "line", {x1: across(ms), x2: across(ms), y1: HIGH - LOW, y2: HIGH - LOW + 4, stroke: "#777"});
    draw(svg, "text", {x: across(ms), y: HIGH - 4, "text-anchor": "middle"}, label);
  }
  data.rows.forEach((row, at) => {
    if (row.rank < 1 && at !== chosen || !shows(row)) return;
    const x = across(row.moment_ms);
    const mark = draw(inner, "line", {x1: x, x2: x, y1: 0, y2: HIGH, class: `mark ${row.severity}`,
      "stroke-width": at === chosen ? 3 : 1, "stroke-dasharray": at === chosen ? "none" : "2 3"});
    draw(mark, "title", {}, row.what);
    mark.addEventListener("click", () => choose(at));
  });
  drawn.forEach((line, at) => {
    for (const piece of line.pieces) {
      const path = piece.map((p, i) => `${i ? "L" : "M"}${across(p[0]).toFixed(1)} ${up(p[1]).toFixed(1)}`).join("");
      const shown = draw(inner, "path", {d: piece.length > 1 ? path : path + "h1", fill: "none", stroke: COLOURS[at],
        "stroke-width": 1.6, "stroke-dasharray": line.dashed ? "5 3" : "none", class: "line"});
      draw(shown, "title", {}, line.name);
    }
    const x = LEFT + at % 2 * (WIDTH - LEFT) / 2, y = HIGH + 14 + 22 * Math.floor(at / 2);
    draw(svg, "line", {x1: x, x2: x + 22, y1: y - 4, y2: y - 4, stroke: COLOURS[at], "stroke-width": 3,
      "stroke-dasharray": line.dashed ? "5 3" : "none"});
    draw(svg, "text", {x: x + 28, y}, line.name.length > 48 ? line.name.slice(0, 47) + "…" : line.name);
  });
  svg.setAttribute("aria-label", unit);
}

const shows = (row) => !group || !row.groups.length || row.groups.includes(group);

function show() {
  const own = data.series.filter((each) => !group || each.group === group).slice(0, MOST_LINES);
  chart(charts[0], words.backlog, own.map((each) => (
    {name: `${each.group} / ${each.topic}`, moments: data.moments_ms, values: each.lag})));
  const sums = group ? own.slice(0, 3) : [data.total];
  chart(charts[1], words.rates, sums.flatMap((each) => {
    const name = group ? `${each.topic}: ` : "";
    return [{name: name + words.sent, moments: data.moments_ms, values: each.sent, dashed: true},
      {name: name + words.consumed, moments: data.moments_ms, values: each.consumed}];
  }));
  rows.forEach((row, at) => {
    row.hidden = !shows(data.rows[at]);
    row.classList.toggle("chosen", at === chosen);
    const outside = data.rows[at].moment_ms < view[0] || data.rows[at].moment_ms > view[1];
    row.classList.toggle("outside", outside);
  });
  document.getElementById("span").textContent = `${clock(view[0], 0, 19)} – ${clock(view[1], 0, 19)} ${data.zone}`;
}

function look(from, to) {
  const span = Math.min(Math.max(to - from, 10000), whole[1] - whole[0]);
  const begin = Math.min(Math.max((from + to - span) / 2, whole[0]), whole[1] - span);
  view = [begin, begin + span];
  show();
}
const zoom = (times, at = (view[0] + view[1]) / 2) => look(at - (at - view[0]) * times, at + (view[1] - at) * times);
const move = (share) => look(view[0] + share * (view[1] - view[0]), view[1] + share * (view[1] - view[0]));

function choose(at) {
  chosen = at;
  const moment = data.rows[at].moment_ms, span = Math.min(view[1] - view[0], 36e5);
  look(moment - span / 2, moment + span / 2);
  rows[at].scrollIntoView({block: "nearest"});
}

for (const svg of charts) {
  const scale = () => WIDTH / svg.getBoundingClientRect().width;
  const moment = (event) => view[0] + ((event.clientX - svg.getBoundingClientRect().left) * scale() - LEFT)
    / (WIDTH - LEFT - RIGHT) * (view[1] - view[0]);
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      move(Math.sign(event.deltaX || event.deltaY) * 0.1);
    } else zoom(event.deltaY > 0 ? 1.25 : 0.8, moment(event));
  }, {passive: false});
  let held = null;
  svg.addEventListener("pointerdown", (event) => { held = [event.clientX, ...view]; });
  window.addEventListener("pointermove", (event) => {
    if (held === null || Math.abs(event.clientX - held[0]) < 3) return;
    const by = (held[0] - event.clientX) * scale() / (WIDTH - LEFT - RIGHT) * (held[2] - held[1]);
    look(held[1] + by, held[2] + by);
  });
  window.addEventListener("pointerup", () => { held = null; });
}
rows.forEach((row, at) => {
  row.addEventListener("click", () => choose(at));
  row.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(at); });
});
const actions = {in: () => zoom(0.5), out: () => zoom(2), earlier: () => move(-0.5), later: () => move(0.5),
  all: () => look(...whole)};
for (const [name, action] of Object.entries(actions)) document.getElementById(name).addEventListener("click", action);
document.getElementById("group").addEventListener("input", (event) => {
  group = data.groups.includes(event.target.value) ? event.target.value : "";
  event.target.classList.toggle("unknown", Boolean(event.target.value) && !group);
  show();
});
show();
