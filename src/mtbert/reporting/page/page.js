"use strict";
const content = JSON.parse(document.getElementById("content").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const hidden = new Set();  // variants whose loss is switched off
const MANY = 12, FIRST = 8;  // of more variants than MANY only the first ones are on at first, a colour each

const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const named = key => content.names[key] ?? key;
const element = (tag, attributes = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children);
  return made;
};

// --- tables: sorting --------------------------------------------------------------------------------------------------

/* What a cell sorts by: a number where it is one (durations in seconds), else its text; null where it is empty. */
function sortKey(cell) {
  const text = (cell.dataset.value ?? cell.textContent).trim();
  const time = /^(?:(\d+) min )?(\d+) s$/.exec(text);
  if (time) return 60 * (time[1] ?? 0) + Number(time[2]);
  const plain = text.replaceAll(",", "").replace("\u2212", "-");
  return plain === "" || plain === "\u2013" ? null : isNaN(plain) ? text : Number(plain);
}

function compare(one, other) {
  if (typeof one === typeof other) return typeof one === "string" ? one.localeCompare(other) : one - other;
  return typeof one === "string" ? 1 : -1;
}

/* Ascending, or descending where it was ascending; empty cells stay last. Numbers begin with the highest. */
function sort(table, heading, column) {
  const first = heading.classList.contains("number") ? "descending" : "ascending";
  const other = first === "ascending" ? "descending" : "ascending";
  const order = heading.getAttribute("aria-sort") === first ? other : first;
  const sign = order === "ascending" ? 1 : -1;
  for (const one of table.tHead.querySelectorAll("[aria-sort]")) one.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", order);
  const rows = [...table.tBodies[0].rows].map(row => [sortKey(row.cells[column]), row]);
  rows.sort(([one], [two]) => (one === null) - (two === null) || (one === null ? 0 : sign * compare(one, two)));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

function makeSortable(table) {
  const headings = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  headings.forEach((heading, column) => {
    if (!heading.textContent.trim()) return;
    const button = element("button", { type: "button" }, ...heading.childNodes);
    const group = table.tHead.rows.length > 1 ? groupOf(table, column) : "";
    button.setAttribute("aria-label", `sort by ${group}${heading.textContent.trim()}`);
    button.addEventListener("click", () => sort(table, heading, column));
    heading.append(button);
  });
}

/* The text of the heading that spans a column in the row above. */
function groupOf(table, column) {
  let end = 0;
  for (const cell of table.tHead.rows[0].cells) {
    end += cell.colSpan;
    if (column < end) return cell.textContent.trim() && `${cell.textContent.trim()}, `;
  }
  return "";
}

// --- choices: a tree whose levels are selects ---------------------------------------------------------------------------

/* Fill a holder's selects with the keys of a tree, level by level, and show the leaf whenever one changes. */
function choose(holder, tree, show) {
  const selects = [...holder.querySelectorAll("select")];
  const refill = () => {
    let branch = tree;
    for (const select of selects) {
      const keys = Object.keys(branch), kept = keys.includes(select.value) ? select.value : keys[0];
      select.replaceChildren(...keys.map(key => element("option", { value: key, textContent: named(key) })));
      select.value = kept;
      branch = branch[kept];
    }
    show(branch, selects.map(select => select.value));
  };
  for (const select of selects) select.addEventListener("change", refill);
  refill();
}

// --- sentences ----------------------------------------------------------------------------------------------------------

const escaped = text => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const textsOf = (task, id) => content.sentences[task]?.[id] ?? [];

/* Lines of some 60 characters for a hover label, in which Plotly would take tags for its own. */
function wrapped(text) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if ((lines.at(-1) + word).length > 60) lines.push("");
    lines[lines.length - 1] += `${word} `;
  }
  return lines.map(line => escaped(line.trim())).join("<br>");
}

function hoverText(task, row, sentence) {
  const id = content.rows[task][row], texts = textsOf(task, id);
  const shown = sentence === null ? texts : texts.slice(sentence, sentence + 1);
  return shown.length ? shown.map(wrapped).join("<br>– ") : `row ${id}`;
}

// --- Plotly -------------------------------------------------------------------------------------------------------------

/* Unpacked from the page itself, once; the tables do not wait for it. */
async function unpack() {
  const bytes = Uint8Array.from(atob(document.getElementById("plotly").textContent), letter => letter.charCodeAt(0));
  const code = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  document.head.append(element("script", { textContent: code }));
}
const plotly = unpack();

// --- figures ------------------------------------------------------------------------------------------------------------

/* A trace in the mode's colours, and with the sentences of its points. */
function painted(trace, task) {
  const { colour: name, rows, apart, hollow } = trace.meta, paint = colour(name);
  const fill = hollow ? { color: colour("ground"), line: { color: paint, width: 2 } } : { color: paint };
  const made = { ...trace, line: { ...trace.line, color: paint }, marker: { ...trace.marker, ...fill } };
  if (trace.error_x) made.error_x = { ...trace.error_x, color: paint };
  if (rows) made.text = rows.map((row, at) => hoverText(task, row, apart ? (at < rows.length / 2 ? 0 : 1) : null));
  if (trace.type === "bar") delete made.line;
  return made;
}

/* The names of points, each with a thin line to its point where it could not stand beside it. */
function namesOf(figure, width) {
  const narrow = width < 500;
  const look = { xanchor: "center", yanchor: "middle", arrowhead: 0, arrowwidth: 0.7, standoff: 5,
    arrowcolor: colour("between"), font: { color: colour("text"), size: narrow ? 10 : 12 } };
  return (figure.named?.[narrow ? "narrow" : "wide"] ?? []).map(one => ({ ...one, ...look }));
}

/* Lines of text within a picture, and what stands beside its lines: short where the screen is narrow. */
function headsOf(figure, width) {
  const look = { xref: "paper", x: 0, xanchor: "left", yanchor: "middle", showarrow: false, align: "left" };
  const font = { color: colour("text"), size: width < 500 ? 11 : 13 };
  return (figure.heads ?? []).map(head => ({ ...head, ...look, font }));
}
const ticksOf = (figure, width) => figure.ticks && { ticktext: figure.ticks[width < 500 ? "narrow" : "wide"] };

function layoutOf(figure, width) {
  const line = colour("line"), text = colour("text"), muted = colour("muted");
  const axis = given => ({ gridcolor: line, zerolinecolor: line, linecolor: line, tickcolor: line, ...given });
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", height: 430, autosize: true,
    font: { family: "system-ui, sans-serif", size: width < 500 ? 11 : 13, color: muted },
    margin: { l: 10, r: 10, t: 20, b: 10 },
    legend: { orientation: "h", traceorder: "normal", y: 1.02, yanchor: "bottom", x: 0, font: { color: text } },
    hoverlabel: { bgcolor: colour("raised"), bordercolor: line, font: { color: text }, align: "left" },
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    ...figure.layout, annotations: [...namesOf(figure, width), ...headsOf(figure, width)],
    xaxis: axis(figure.layout.xaxis), yaxis: axis({ ...figure.layout.yaxis, ...ticksOf(figure, width) }),
  };
}

// --- three dimensions ---------------------------------------------------------------------------------------------------

/* Points seen from an angle, all within a fixed range; the nearer, the larger. */
class View {
  constructor(traces) {
    const squares = traces.flatMap(trace => trace.x.map((x, at) => x ** 2 + trace.y[at] ** 2 + trace.meta.z[at] ** 2));
    this.radius = 1.05 * Math.sqrt(squares.reduce((one, other) => Math.max(one, other), 0)) || 1;
  }

  turned(trace, [across, up]) {
    const [c, s, cu, su] = [Math.cos(across), Math.sin(across), Math.cos(up), Math.sin(up)];
    const seen = { x: [], y: [], size: [] };
    trace.x.forEach((x, at) => {
      const y = trace.y[at], z = trace.meta.z[at], gap = x === null;
      const depth = s * x + c * z;
      seen.x.push(gap ? null : c * x - s * z);
      seen.y.push(gap ? null : cu * y - su * depth);
      seen.size.push(6 + 3 * (su * y + cu * depth) / this.radius);
    });
    return { ...trace, x: seen.x, y: seen.y, marker: { ...trace.marker, size: seen.size } };
  }

  layout(given) {
    const axis = { visible: false, range: [-this.radius, this.radius], fixedrange: true };
    return { ...given, xaxis: { ...axis, scaleanchor: "y" }, yaxis: axis, dragmode: false };
  }
}

/* Call `turn(across, up)` with radians as a pointer or the arrow keys ask for. */
function turnable(place, turn) {
  let from = null;
  place.addEventListener("pointerdown", event => { from = [event.clientX, event.clientY]; });
  addEventListener("pointerup", () => { from = null; });
  place.addEventListener("pointermove", event => {
    if (!from) return;
    turn((event.clientX - from[0]) / 150, (event.clientY - from[1]) / 150);
    from = [event.clientX, event.clientY];
  });
  const keys = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] };
  place.addEventListener("keydown", event => {
    if (event.key in keys && turn(...keys[event.key])) event.preventDefault();
  });
}

/* Draw a figure into a canvas once it comes near the screen, and again whenever what it shows or the mode changes. */
class Canvas {
  constructor(place) {
    this.place = place;
    this.near = false;
    new IntersectionObserver(([entry]) => { if (entry.isIntersecting && !this.near) { this.near = true; this.draw(); } },
      { rootMargin: "600px" }).observe(place);
    dark.addEventListener("change", () => this.draw());
    this.angles = [0.5, 0.4];
    turnable(place, (across, up) => this.turn(across, up));
  }

  show(figure, task) {
    Object.assign(this, { figure, task, view: figure.layout.meta?.solid ? new View(figure.data) : null });
    this.place.style.touchAction = this.view ? "none" : "";
    this.place.tabIndex = this.view ? 0 : -1;
    this.draw();
  }

  turn(across, up) {
    if (!this.view) return false;
    this.angles = [this.angles[0] + across, this.angles[1] + up];
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
    return true;
  }

  async draw() {
    await plotly;
    if (!this.near || !this.figure) return;
    let traces = this.figure.data.map(trace => painted(trace, this.task));
    if (this.view) traces = traces.map(trace => this.view.turned(trace, this.angles));
    if (this.place.closest("#losses")) for (const trace of traces) trace.visible = !hidden.has(trace.name);
    let layout = layoutOf(this.figure, this.place.clientWidth);
    if (this.view) layout = this.view.layout(layout);
    if (this.place.closest("#losses")) layout.showlegend = false;
    const options = { displayModeBar: false, responsive: true };
    Plotly.react(this.place, traces, layout, options);
  }
}

/* The checkboxes are the legend of the losses, since Plotly's own cannot be reached by keyboard. */
function switches(canvas) {
  const fieldset = document.getElementById("variants"), boxes = element("div");
  const looks = Object.entries(content.looks);
  const first = looks.length > MANY ? FIRST : looks.length;
  looks.forEach(([name, look], at) => {
    const box = element("input", { type: "checkbox", checked: at < first, value: name });
    if (at >= first) hidden.add(name);
    const label = element("label", {}, box, swatch(look), look.mark ? `${name} ${look.mark}` : name);
    box.addEventListener("change", () => { hidden[box.checked ? "delete" : "add"](name); canvas.draw(); });
    boxes.append(label);
  });
  for (const button of fieldset.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      for (const box of boxes.querySelectorAll("input")) {
        box.checked = Boolean(button.dataset.all);
        hidden[box.checked ? "delete" : "add"](box.value);
      }
      canvas.draw();
    });
  }
  fieldset.append(boxes);
}

function swatch(look) {
  const dashes = { solid: "", dash: "5 3", dot: "2 2", dashdot: "5 2 2 2", longdash: "8 3", longdashdot: "8 2 2 2" };
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("width", 26);
  picture.setAttribute("height", 8);
  picture.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const settings = { x1: 0, y1: 4, x2: 26, y2: 4, "stroke-width": 3, "stroke-dasharray": dashes[look.dash] };
  for (const [name, value] of Object.entries(settings)) line.setAttribute(name, value);
  line.style.stroke = `var(--${look.colour})`;
  picture.append(line);
  return picture;
}

// --- confusions and misses ----------------------------------------------------------------------------------------------

const labelOf = (task, value) => {
  const name = content.labels[task]?.[value];
  return name === undefined ? String(value) : `${value} ${name}`;
};

function confusion(counts, [task]) {
  const head = element("tr", {}, element("th", { textContent: "label \u2193 predicted \u2192" }),
    ...counts.map((_, label) => element("th", { scope: "col", textContent: labelOf(task, label) })));
  const rows = counts.map((row, label) => {
    const all = row.reduce((one, other) => one + other, 0);
    const cells = row.map((count, predicted) => {
      const share = all ? count / all : 0;
      const cell = element("td", { className: label === predicted ? "right" : "" },
        `${(100 * share).toFixed(0)} % `, element("small", { textContent: `(${count.toLocaleString("en")})` }));
      cell.style.setProperty("--share", (0.5 * share).toFixed(3));
      return cell;
    });
    return element("tr", {}, element("th", { scope: "row", textContent: labelOf(task, label) }), ...cells);
  });
  return element("table", { className: "matrix" }, element("thead", {}, head), element("tbody", {}, ...rows));
}

function missed(misses, [task]) {
  const classes = task in content.labels, with_texts = task in content.sentences;
  const titles = ["label", "predicted", classes ? "probability of it" : "off by", with_texts ? "sentences" : "row"];
  const head = element("tr", {}, ...titles.map((title, at) =>
    element("th", { scope: "col", textContent: title, className: at === 2 || !classes && at < 2 ? "number" : "" })));
  const rows = misses.map(miss => {
    const texts = textsOf(task, miss.id).map(text => element("p", { textContent: text }));
    const number = value => element("td", { className: "number", textContent: value.toFixed(2) });
    const shown = value => classes ? element("td", { textContent: labelOf(task, value) }) : number(value);
    const last = texts.length ? element("td", { className: "texts" }, ...texts)
      : element("td", { className: "id", textContent: miss.id });
    const cells = [shown(miss.label), shown(miss.prediction), number(miss.size), last];
    cells.forEach((cell, at) => { cell.dataset.title = titles[at]; });
    return element("tr", {}, ...cells);
  });
  if (!rows.length) return element("p", { className: "note", textContent: "No row was missed." });
  return element("table", { className: "missed" }, element("thead", {}, head), element("tbody", {}, ...rows));
}

// --- start --------------------------------------------------------------------------------------------------------------

for (const table of document.querySelectorAll(".prose table")) {
  const holder = element("div", { className: table.rows.length > 25 ? "scroll tall" : "scroll", tabIndex: 0, role: "region" });
  const heading = table.closest("section").querySelector("h2");
  holder.setAttribute("aria-label", heading.textContent);
  for (const cell of table.querySelectorAll("[style*=right]")) cell.classList.add("number");
  table.replaceWith(holder);
  holder.append(table);
  table.classList.add("sortable");
}
document.querySelectorAll("table.sortable").forEach(makeSortable);

for (const holder of document.querySelectorAll("[data-figure]")) {
  const canvas = new Canvas(holder.querySelector(".canvas"));
  if (holder.dataset.figure === "losses") switches(canvas);
  choose(holder, content[holder.dataset.figure], (figure, [task]) => canvas.show(figure, task));
}
const tables = { confusions: confusion, misses: missed };
for (const holder of document.querySelectorAll("[data-table]")) {
  const place = holder.querySelector(".scroll"), make = tables[holder.dataset.table];
  choose(holder, content[holder.dataset.table], (leaf, keys) => place.replaceChildren(make(leaf, keys)));
}

const links = new Map([...document.querySelectorAll("nav a")].map(link => [link.hash.slice(1), link]));
const seen = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting) {
    for (const link of links.values()) link.removeAttribute("aria-current");
    links.get(entry.target.id)?.setAttribute("aria-current", "true");
  }
}, { rootMargin: "-20% 0px -75% 0px" });
document.querySelectorAll("main > section").forEach(section => seen.observe(section));
