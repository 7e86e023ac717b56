// SPDX-License-Identifier: GPL-2.0
"use strict";
(() => {
const WIDTH = 1000, HEIGHT = 300;  // of a drawing, in its own units
const machines = JSON.parse(document.getElementById("data").textContent).machines;
const slider = document.getElementById("time");
const button = document.getElementById("play");
const speed = document.getElementById("speed");
const now = document.getElementById("now");
const DASHES = {pswpout: "7 3", pswpin: "2 3", zswpwb: "8 3 2 3", available: "5 3"};

function html(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Seconds from the first sample of a machine to its last.
const length = machine => machine.t.length ? machine.t[machine.t.length - 1] : 0;
const span = Math.max(0.1, ...machines.map(length));

// The last sample that is not after a time; -1 if there is none.
function sampleAt(machine, time) {
  let low = 0, high = machine.t.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (machine.t[middle] <= time + 1e-9) low = middle + 1; else high = middle;
  }
  return low - 1;
}

const number = value => Math.round(value).toLocaleString("en");

// A value with its unit.
function text(value, unit) {
  if (unit !== "KiB") return `${number(value)} ${unit}`;
  return value < 1024 ? `${number(value)} KB` : `${(value / 1024).toFixed(1)} MB`;
}

// A step for ticks: 1, 2 or 5 times a power of ten, about a quarter of all.
function tickStep(most) {
  const rough = most / 4, power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map(times => times * power).find(step => step >= rough);
}

function tickText(value, unit) {
  if (unit === "KiB") return `${number(value / 1024)} MB`;
  if (value >= 1e6) return `${value / 1e6} M`;
  return value >= 1000 ? `${value / 1000} k` : `${value}`;
}

// The highest value of a plot, over all machines: a row has one scale.
function highest(at) {
  let most = 0;
  for (const machine of machines) {
    const plot = machine.plots[at];
    for (let i = 0; i < machine.t.length; i++) {
      most = Math.max(most, plot.stack.reduce((sum, layer) => sum + layer.values[i], 0));
      for (const line of plot.lines) most = Math.max(most, line.values[i]);
    }
  }
  return most || 1;
}

const x = seconds => (seconds / span * WIDTH).toFixed(1);

function swatch(series, isLine) {
  const mark = isLine
    ? svg("path", {class: "line", d: "M0 5 H16", style: `stroke: var(--${series.key})`,
        "stroke-dasharray": DASHES[series.key] || ""})
    : svg("rect", {width: 16, height: 10, style: `fill: var(--${series.key})`});
  return svg("svg", {viewBox: "0 0 16 10", "aria-hidden": "true"}, mark);
}

function areas(machine, plot, y) {
  let below = machine.t.map(() => 0);
  return plot.stack.map(layer => {
    const above = below.map((value, i) => value + layer.values[i]);
    const top = machine.t.map((t, i) => `${x(t)} ${y(above[i])}`);
    const bottom = machine.t.map((t, i) => `${x(t)} ${y(below[i])}`).reverse();
    below = above;
    return svg("path", {class: "area", d: `M${top.join("L")}L${bottom.join("L")}Z`,
      style: `fill: var(--${layer.key})`});
  });
}

function lines(machine, plot, y) {
  return plot.lines.map(line => svg("path", {
    class: "line", style: `stroke: var(--${line.key})`, "stroke-dasharray": DASHES[line.key] || "",
    d: `M${machine.t.map((t, i) => `${x(t)} ${y(line.values[i])}`).join("L")}`,
  }));
}

// One plot of one machine; the playhead moves a clipping rectangle over what is drawn once.
function draw(machine, at, plotAt, most) {
  const plot = machine.plots[plotAt];
  const top = most * 1.04, y = value => (HEIGHT - value / top * HEIGHT).toFixed(1);
  const step = plot.unit === "KiB" ? tickStep(most / 1024) * 1024 : Math.max(1, tickStep(most));
  const ticks = [], marks = html("div", {class: "y", "aria-hidden": "true"});
  for (let tick = 0; tick <= most; tick += step) {
    ticks.push(svg("line", {class: "grid", x1: 0, x2: WIDTH, y1: y(tick), y2: y(tick)}));
    marks.append(html("span", {style: `top: ${100 - tick / top * 100}%`}, tickText(tick, plot.unit)));
  }
  const seconds = html("div", {class: "x", "aria-hidden": "true"});
  const every = tickStep(span);
  for (let t = 0; t <= span; t += every) {
    seconds.append(html("span", {style: `left: ${t / span * 100}%`}, `${Number(t.toFixed(6))} s`));
  }
  const id = `clip-${at}-${plotAt}`;
  const clip = svg("rect", {x: 0, y: -HEIGHT, width: WIDTH, height: 3 * HEIGHT});
  const head = svg("line", {class: "head", x1: 0, x2: 0, y1: 0, y2: HEIGHT});
  const drawing = svg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${machine.name}: ${plot.name} over time, in ${plot.unit === "KiB" ? "MB" : plot.unit}`});
  drawing.append(svg("clipPath", {id}, clip), ...ticks,
    svg("g", {"clip-path": `url(#${id})`}, ...areas(machine, plot, y), ...lines(machine, plot, y)),
    ...machine.stages.map(stage =>
      svg("line", {class: "stagemark", x1: x(stage.begin), x2: x(stage.begin), y1: 0, y2: HEIGHT})),
    head);
  const legend = html("ul", {class: "legend"},
    ...plot.stack.map(layer => html("li", {}, swatch(layer, false), layer.label)),
    ...plot.lines.map(line => html("li", {}, swatch(line, true), line.label)));
  const figure = html("figure", {},
    html("div", {class: "title"}, html("b", {}, plot.name),
      html("span", {}, plot.unit === "KiB" ? "MB" : plot.unit)),
    html("div", {class: "plot"}, marks, drawing, seconds), legend);
  return {figure, move(time) {
    clip.setAttribute("width", x(Math.min(time, span)));
    head.setAttribute("x1", x(time));
    head.setAttribute("x2", x(time));
  }};
}

// The rows of the table: all series there are, in the order of the plots.
function tableRows() {
  const body = document.querySelector("#values tbody"), rows = [];
  const group = name => body.append(html("tr", {}, html("th", {class: "group", scope: "row",
    colspan: machines.length + 1}, name)));
  const add = (name, value, mark) => {
    const cells = machines.map(() => html("td", {}));
    body.append(html("tr", {}, html("th", {scope: "row"}, ...(mark ? [mark] : []), name), ...cells));
    rows.push({cells, value});
  };
  const all = machines[0] ? machines[0].plots.map(plot => plot.name) : [];
  all.forEach((name, at) => {
    group(name);
    const seen = new Map();
    for (const machine of machines) {
      for (const layer of machine.plots[at].stack) if (!seen.has(layer.key)) seen.set(layer.key, [layer, false]);
      for (const line of machine.plots[at].lines) if (!seen.has(line.key)) seen.set(line.key, [line, true]);
    }
    for (const [key, [series, isLine]] of seen) {
      add(series.label, (machine, i) => {
        const plot = machine.plots[at];
        const found = [...plot.stack, ...plot.lines].find(one => one.key === key);
        return found ? text(found.values[i], plot.unit) : "–";
      }, swatch(series, isLine));
    }
    if (at === 1) add("slots taken on a swap device", (machine, i) => text(machine.device[i], "pages"));
  });
  return rows;
}

function stageText(machine, time) {
  if (!machine.t.length) return "";
  if (time > length(machine) + 1e-9 || time >= span) return `ended: ${machine.result}`;
  const stage = machine.stages.find(one => one.begin <= time && time < one.end);
  return stage ? stage.name : " ";
}

const plots = [], stages = [];
document.querySelectorAll(".machine").forEach((section, at) => {
  const machine = machines[at];
  stages.push(section.querySelector(".stage"));
  if (machine.t.length < 2) return;
  machine.plots.forEach((_plot, plotAt) => {
    const drawn = draw(machine, at, plotAt, highest(plotAt));
    section.querySelector(".plots").append(drawn.figure);
    plots.push(drawn);
  });
});
const rows = tableRows();

let time = span, playing = false, before = null;
const still = () => time >= span ? "ended" : "paused";

function show() {
  for (const plot of plots) plot.move(time);
  machines.forEach((machine, at) => {
    stages[at].textContent = stageText(machine, time);
    const sample = time > length(machine) + 1e-9 ? -1 : sampleAt(machine, time);
    for (const row of rows) row.cells[at].textContent = sample < 0 ? "–" : row.value(machine, sample);
  });
  const said = `${time.toFixed(1)} s`;
  slider.value = time;
  slider.setAttribute("aria-valuetext", `${said} of ${span.toFixed(1)} s`);
  now.textContent = said;
  document.body.dataset.state = playing ? "playing" : still();
  document.body.dataset.time = time.toFixed(2);
}

function frame(stamp) {
  if (!playing) return;
  if (before !== null) time = Math.min(span, time + (stamp - before) / 1000 * Number(speed.value));
  before = stamp;
  if (time >= span) play(false); else requestAnimationFrame(frame);
  show();
}

function play(wanted) {
  if (wanted && time >= span) time = 0;
  playing = wanted;
  before = null;
  button.textContent = playing ? "Pause" : "Play";
  if (playing) requestAnimationFrame(frame);
  show();
}

slider.max = span;
slider.step = Math.max(0.01, span / 1000).toFixed(2);
button.addEventListener("click", () => play(!playing));
slider.addEventListener("input", () => {
  time = slider.value >= span - Number(slider.step) ? span : Number(slider.value);
  before = null;
  show();
});
document.addEventListener("keydown", event => {
  const taken = ["BUTTON", "SELECT", "A", "SUMMARY"].includes(event.target.tagName);
  if (event.key !== " " || taken || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  play(!playing);
});
show();
document.body.dataset.plots = plots.length;
})();
