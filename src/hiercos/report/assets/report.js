"use strict";
// The interactive parts of the report: the zoomable tree, the panel of a node, mistakes, and the table of classes.
// All names and inputs enter the page as text (textContent), never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const RAMP = ["#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838"];
const DIVERGING = ["#a64a00", "#e39a63", "#eeeeee", "#7fb2dd", "#00559e"];
const GREY = "#b9bec4";
const children = data.names.map(() => []);
const top_ = [];
data.parents.forEach((parent, node) => (parent < 0 ? top_ : children[parent]).push(node));
const classes = data.names.map((_, node) => (children[node].length ? 0 : 1));
for (let node = data.names.length - 1; node >= 0; node--) if (data.parents[node] >= 0) classes[data.parents[node]] += classes[node];
const isNumber = value => value !== null && value !== undefined;
const percent = value => (isNumber(value) ? (100 * value).toFixed(1) + "%" : "–");
const MEASURES = {
  accuracy: { title: "Accuracy", text: percent, ramp: RAMP, low: 0, high: 1 },
  severity: { title: "Severity of the mistakes", text: value => (isNumber(value) ? value.toFixed(2) : "–"), ramp: RAMP, low: 0 },
  support: { title: "Test samples", text: value => String(value), ramp: RAMP, low: 0 },
  gain: { title: "Gain in accuracy over " + data.reference, text: value => (isNumber(value) ? (value > 0 ? "+" : "") + (100 * value).toFixed(1) + " points" : "–"), ramp: DIVERGING },
};

function element(name, attributes = {}, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

function path(node) {
  const nodes = [];
  for (; node >= 0; node = data.parents[node]) nodes.unshift(node);
  return nodes;
}

const pathText = node => (node < 0 ? "(cannot say)" : path(node).map(each => data.names[each]).join(" > "));
const named = new Map();
data.names.forEach(name => named.set(name, (named.get(name) || 0) + 1));
const shortText = node => (node < 0 || named.get(data.names[node]) > 1 ? pathText(node) : data.names[node]);

function colour(ramp, share) {
  const place = Math.min(Math.max(share, 0), 1) * (ramp.length - 1), start = Math.min(Math.floor(place), ramp.length - 2);
  const tones = [1, 3, 5].map(at => {
    const [low, high] = [0, 1].map(step => parseInt(ramp[start + step].slice(at, at + 2), 16));
    return Math.round(low + (place - start) * (high - low));
  });
  return { fill: `rgb(${tones.join(",")})`, ink: 0.299 * tones[0] + 0.587 * tones[1] + 0.114 * tones[2] > 140 ? "#000" : "#fff" };
}

function range(name) {
  const measure = MEASURES[name], values = data[name].filter(isNumber);
  if (name === "gain") { const most = Math.max(0.01, ...values.map(Math.abs)); return [-most, most]; }
  return [measure.low, measure.high ?? values.reduce((most, value) => Math.max(most, value), 1e-9)];
}

// ---- the tree as an icicle
const icicle = { zoomed: -1, active: top_[0], measure: "accuracy", width: "classes" };
const ROW = 30;

function weight(node) { return icicle.width === "classes" ? classes[node] : data.support[node]; }

function drawIcicle() {
  const place = document.getElementById("icicle"), wide = Math.max(place.clientWidth, 300);
  const [low, high] = range(icicle.measure), measure = MEASURES[icicle.measure];
  const above = icicle.zoomed < 0 ? [] : path(icicle.zoomed);
  const bars = above.map((node, level) => ({ node, x: 0, wide, level }));
  let deepest = above.length;
  // Neighbours that are too narrow to be seen share a bar of their mean; it leads to their parent.
  const merged = (nodes, x, wide, level) => {
    const known = nodes.filter(node => isNumber(data[icicle.measure][node])), total = known.reduce((sum, node) => sum + weight(node), 0);
    const value = total ? known.reduce((sum, node) => sum + weight(node) * data[icicle.measure][node], 0) / total : null;
    bars.push({ node: data.parents[nodes[0]] < 0 ? nodes[0] : data.parents[nodes[0]], x, wide, level, value, merged: nodes.length });
    deepest = Math.max(deepest, level + 1);
  };
  const below = (nodes, x, room, level) => {
    const total = nodes.reduce((sum, node) => sum + weight(node), 0);
    let narrow = [], start = x;
    const flush = () => { if (narrow.length) merged(narrow, start, x - start, level); narrow = []; };
    for (const node of nodes) {
      const own = total ? (weight(node) / total) * room : 0;
      if (own >= 0.6) {
        flush();
        bars.push({ node, x, wide: own, level });
        deepest = Math.max(deepest, level + 1);
        if (children[node].length) below(children[node], x, own, level + 1);
      } else if (own > 0) {
        if (!narrow.length) start = x;
        narrow.push(node);
      }
      x += own;
      if (x - start >= 2) flush();
    }
    flush();
  };
  below(icicle.zoomed < 0 ? top_ : children[icicle.zoomed], 0, wide, above.length);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${wide} ${deepest * ROW}`);
  for (const bar of bars) {
    const value = bar.merged ? bar.value : data[icicle.measure][bar.node];
    const tone = isNumber(value) ? colour(measure.ramp, (value - low) / (high - low)) : { fill: GREY, ink: "#000" };
    const box = document.createElementNS(SVG, "rect");
    for (const [key, number] of Object.entries({ x: bar.x, y: bar.level * ROW, width: Math.max(bar.wide - 0.5, 0.3), height: ROW - 1.5 })) box.setAttribute(key, number);
    box.setAttribute("fill", tone.fill);
    box.dataset.node = bar.node;
    if (bar.node === icicle.active && !bar.merged) box.classList.add("active");
    const title = document.createElementNS(SVG, "title");
    title.textContent = bar.merged ? `${bar.merged} nodes below ${pathText(bar.node)}: mean ${measure.text(value)}; zoom in to see them` : summary(bar.node);
    box.append(title);
    svg.append(box);
    if (bar.wide > 40) {
      const text = document.createElementNS(SVG, "text"), fits = Math.floor((bar.wide - 8) / 6.6), name = data.names[bar.node];
      text.setAttribute("x", bar.x + 4); text.setAttribute("y", bar.level * ROW + 19); text.setAttribute("fill", tone.ink);
      text.textContent = name.length > fits ? name.slice(0, Math.max(fits - 1, 0)) + "…" : name;
      svg.append(text);
    }
  }
  place.replaceChildren(svg);
  document.getElementById("key").textContent = `${measure.title}: ${measure.text(low)} to ${measure.text(high)}`;
  document.getElementById("grey").textContent = bars.some(bar => !isNumber(data[icicle.measure][bar.node])) ? ` (grey: ${icicle.measure === "severity" ? "no mistakes" : "no test samples"})` : "";
  document.getElementById("merged").textContent = bars.some(bar => bar.merged) ? " Nodes too narrow to be seen share bars of their mean: zoom in." : "";
  const stops = measure.ramp.map((tone, step) => `${tone} ${(100 * step) / (measure.ramp.length - 1)}%`).join(",");
  document.getElementById("ramp").style.background = `linear-gradient(to right,${stops})`;
}

function figures(node) {
  const parts = [`${data.support[node]} test samples`, `accuracy ${percent(data.accuracy[node])}`, `severity ${MEASURES.severity.text(data.severity[node])}`];
  if (data.reference) parts.push(`gain ${MEASURES.gain.text(data.gain[node])}`);
  return parts.join(", ");
}

const summary = node => `${pathText(node)}: ${figures(node)}`;

function activate(node, zoom) {
  icicle.active = node;
  if (zoom) icicle.zoomed = icicle.zoomed === node ? data.parents[node] : children[node].length ? node : data.parents[node];
  drawIcicle();
  showNode(node);
  document.getElementById("announce").textContent = summary(node);
}

function visit(key) {
  const node = icicle.active, siblings = data.parents[node] < 0 ? top_ : children[data.parents[node]], at = siblings.indexOf(node);
  const next = {
    ArrowUp: data.parents[node], ArrowDown: children[node][0] ?? -1,
    ArrowLeft: siblings[at - 1] ?? -1, ArrowRight: siblings[at + 1] ?? -1,
  }[key];
  if (next >= 0) {
    if (icicle.zoomed >= 0 && !path(next).includes(icicle.zoomed) && next !== data.parents[icicle.zoomed]) icicle.zoomed = data.parents[next];
    activate(next, false);
  }
}

// ---- the panel of a node
function below(node, ancestor) { for (; node >= 0; node = data.parents[node]) if (node === ancestor) return true; return false; }
function childUnder(node, ancestor) { while (node >= 0 && data.parents[node] !== ancestor) node = data.parents[node]; return node; }

function showNode(node) {
  const own = [];
  data.labels.forEach((label, sample) => { if (below(data.leaves[label], node)) own.push(sample); });
  const panel = document.getElementById("node");
  panel.replaceChildren(element("h3", {}, pathText(node)), element("p", { class: "small" }, figures(node)));
  if (children[node].length > 1) panel.append(confusion(node, own));
  const wrong = own.filter(sample => data.answers[sample] !== data.leaves[data.labels[sample]]);
  const shown = [...wrong.filter(sample => input(sample)), ...wrong.filter(sample => !input(sample))].slice(0, 12);
  if (shown.length) panel.append(element("h3", {}, `Mistakes here (${wrong.length} of ${own.length} samples)`), sampleTable(shown));
}

const input = sample => data.inputs[data.rows[sample]];

function confusion(node, own) {
  const counts = new Map();
  for (const sample of own) {
    const truth = childUnder(data.leaves[data.labels[sample]], node), answer = childUnder(data.answers[sample], node);
    const key = `${truth} ${answer}`;
    counts.set(key, (counts.get(key) || 0) + 1);
  }
  const of = (truth, answer) => counts.get(`${truth} ${answer}`) || 0;
  const columns = [...children[node]];
  const errors = child => columns.reduce((sum, other) => sum + (other === child ? 0 : of(child, other) + of(other, child)), 0) + of(child, -1);
  const most = columns.sort((a, b) => errors(b) - errors(a)).slice(0, 12).sort((a, b) => a - b);
  const head = element("tr", {}, element("th", { scope: "col" }, "true child, answered →"));
  most.forEach((child, at) => head.append(element("th", { scope: "col", title: data.names[child] }, String(at + 1))));
  head.append(element("th", { scope: "col" }, "elsewhere"));
  const body = element("tbody");
  most.forEach((child, at) => {
    const row = element("tr", {}, element("th", { scope: "row", class: "wide" }, `${at + 1} ${data.names[child]}`));
    for (const other of [...most, -1]) {
      const count = of(child, other);
      row.append(element("td", other === child ? { class: "best" } : {}, count ? String(count) : "·"));
    }
    body.append(row);
  });
  const left = children[node].length - most.length;
  const note = left > 0 ? `The ${most.length} children with the most confusion; ${left} others are not shown.` : "";
  return element("div", {}, element("h3", {}, "Confusion among its children"),
    element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Confusion among the children" }, element("table", {}, element("thead", {}, head), body)), element("p", { class: "small" }, note));
}

function sampleTable(samples) {
  const body = element("tbody");
  for (const sample of samples) {
    const shown = input(sample);
    const inputs = hasInputs ? [element("td", { class: "wide" }, shown ? inputNode(shown) : "–")] : [];
    body.append(element("tr", {}, element("td", {}, String(data.rows[sample] + 1)), ...inputs,
      element("td", { class: "wide" }, shortText(data.leaves[data.labels[sample]])), element("td", { class: "wide" }, pathText(data.answers[sample])),
      element("td", {}, percent(data.probabilities[sample]))));
  }
  const head = element("tr", {}, ...["test row", ...(hasInputs ? ["input"] : []), "true", "answer", "probability"].map(text => element("th", { scope: "col", class: ["input", "true", "answer"].includes(text) ? "wide" : "" }, text)));
  return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table of samples" }, element("table", {}, element("thead", {}, head), body));
}

const hasInputs = Object.keys(data.inputs).length > 0;

function inputNode(shown) {
  if (shown.image) return element("img", { src: shown.image, alt: shown.name, title: shown.name, decoding: "async" });
  return document.createTextNode(shown.text ?? shown.name);
}

// ---- mistakes
function pathList(title, node, mistake, other) {
  const list = element("ol"), shared = new Set(other < 0 ? [] : path(other));
  for (const each of node < 0 ? [] : path(node)) {
    const share = mistake.probabilities[each] ?? 0;
    const bar = element("span", { class: "bar" }, element("i", { style: `width:${(100 * share).toFixed(1)}%` }));
    list.append(element("li", shared.has(each) ? { class: "same" } : {}, `${data.names[each]} ${percent(share)}`, bar));
  }
  if (node < 0) list.append(element("li", {}, "(cannot say)"));
  return element("div", {}, element("b", {}, title), list);
}

const contentOf = shown => shown && (shown.image ?? shown.text);

// Mistakes with the same input, truth and answer, such as copies of a photo, in one group.
function grouped(mistakes) {
  const groups = new Map();
  for (const mistake of mistakes) {
    const content = contentOf(data.inputs[mistake.row]), key = content ? `${mistake.true} ${mistake.answer} ${content}` : mistake.row;
    groups.set(key, [...(groups.get(key) ?? []), mistake]);
  }
  return [...groups.values()];
}

function mistakeCard(group) {
  const mistake = group[0], shown = data.inputs[mistake.row], card = element("li");
  const rows = group.map(each => each.row + 1).join(", ");
  if (shown) card.append(element("p", {}, inputNode(shown)));
  card.append(element("p", { class: "small" }, `Test row${group.length > 1 ? "s" : ""} ${rows}, tree distance ${mistake.distance}`));
  card.append(element("div", { class: "paths" }, pathList("True", mistake.true, mistake, mistake.answer), pathList("Answer", mistake.answer, mistake, mistake.true)));
  return card;
}

function showMistakes() {
  const list = document.getElementById("mistakes"), more = document.getElementById("more-mistakes");
  const groups = grouped(data.mistakes);
  let shown = 0;
  const grow = () => {
    for (const group of groups.slice(shown, shown + 12)) list.append(mistakeCard(group));
    shown += 12;
    more.hidden = shown >= groups.length;
  };
  more.addEventListener("click", grow);
  grow();
}

function showPairs() {
  const body = document.getElementById("pairs");
  if (!data.pairs.length) body.append(element("tr", {}, element("td", { colspan: "4" }, "No pair is confused more than once.")));
  for (const pair of data.pairs) {
    const found = pair.rows.map(row => data.inputs[row]).filter(Boolean), contents = found.map(contentOf);
    const examples = found.filter((_, at) => contents.indexOf(contents[at]) === at).slice(0, 3);
    const cell = element("td", { class: "wide" });
    examples.forEach((shown, at) => cell.append(...(at && !shown.image ? [element("br")] : []), inputNode(shown)));
    body.append(element("tr", {}, element("td", { class: "wide" }, pathText(pair.true)), element("td", { class: "wide" }, pathText(pair.answer)),
      element("td", {}, String(pair.count)), ...(hasInputs ? [cell] : [])));
  }
}

function csvText(rows) {
  const cell = value => { const text = String(value); return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text; };
  return rows.map(row => row.map(cell).join(",") + "\n").join("");
}

function suspectRows() {
  const rows = [["test_row", "name", "label", "answer", "probability", "tree_distance", "input"]];
  for (const each of data.suspects) {
    const shown = data.inputs[each.row] ?? {};
    rows.push([each.row + 1, shown.name ?? "", pathText(each.true), pathText(each.answer), (each.probabilities[each.answer] ?? 1).toFixed(4), each.distance, shown.text ?? ""]);
  }
  return rows;
}

function offerSuspects() {
  document.getElementById("suspects").addEventListener("click", () => {
    const link = element("a", { href: URL.createObjectURL(new Blob([csvText(suspectRows())], { type: "text/csv" })), download: "suspected-labels.csv" });
    link.click();
    URL.revokeObjectURL(link.href);
  });
}

// ---- the table of classes
function classRows() {
  const wrong = data.leaves.map(() => new Map());
  data.labels.forEach((label, sample) => {
    const answer = data.answers[sample];
    if (answer !== data.leaves[label]) wrong[label].set(answer, (wrong[label].get(answer) || 0) + 1);
  });
  return data.leaves.map((leaf, label) => {
    const [node, count] = [...wrong[label]].reduce((most, each) => (each[1] > most[1] ? each : most), [null, 0]);
    return { leaf, name: pathText(leaf), support: data.support[leaf], accuracy: data.accuracy[leaf], severity: data.severity[leaf], gain: data.gain[leaf],
      confused: count ? `${shortText(node)} (${count})` : "" };
  });
}

function classCell(leaf) {
  const above = path(leaf).slice(0, -1).map(each => data.names[each] + " > ").join("");
  return element("td", { class: "class-path" }, element("span", {}, above), data.names[leaf]);
}

function showClasses() {
  const rows = classRows(), body = document.getElementById("classes"), found = document.getElementById("found");
  const search = document.getElementById("search"), all = document.getElementById("all-classes");
  let key = "accuracy", direction = 1, most = 100;
  const fill = () => {
    const wanted = search.value.trim().toLowerCase();
    const chosen = rows.filter(row => row.name.toLowerCase().includes(wanted));
    chosen.sort((a, b) => {
      if (typeof a[key] === "string") return direction * a[key].localeCompare(b[key]);
      return isNumber(a[key]) && isNumber(b[key]) ? direction * (a[key] - b[key]) : isNumber(b[key]) - isNumber(a[key]);
    });
    body.replaceChildren(...chosen.slice(0, most).map(row => {
      const button = element("button", { type: "button", "aria-label": "show " + shortText(row.leaf) + " in the tree" }, "show");
      button.addEventListener("click", () => { icicle.zoomed = data.parents[row.leaf]; activate(row.leaf, false); document.getElementById("section-the-tree").scrollIntoView(); });
      const cells = [row.support, percent(row.accuracy), MEASURES.severity.text(row.severity), ...(data.reference ? [MEASURES.gain.text(row.gain)] : [])];
      return element("tr", {}, classCell(row.leaf), ...cells.map(text => element("td", {}, String(text))), element("td", { class: "wide" }, row.confused), element("td", { class: "on-screen" }, button));
    }));
    found.textContent = `${chosen.length} of ${rows.length} classes` + (chosen.length > most ? `, the first ${most} are shown` : "");
    all.hidden = chosen.length <= most;
  };
  for (const head of document.querySelectorAll("th[data-key]")) {
    head.querySelector("button").addEventListener("click", () => {
      direction = key === head.dataset.key ? -direction : 1;
      key = head.dataset.key;
      for (const other of document.querySelectorAll("th[data-key]")) other.setAttribute("aria-sort", other === head ? (direction > 0 ? "ascending" : "descending") : "none");
      fill();
    });
  }
  search.addEventListener("input", fill);
  all.addEventListener("click", () => { most = Infinity; fill(); });
  fill();
}

function connectIcicle() {
  const place = document.getElementById("icicle");
  place.addEventListener("click", event => { if (event.target.dataset.node) activate(Number(event.target.dataset.node), true); });
  place.addEventListener("keydown", event => {
    if (event.key.startsWith("Arrow")) { event.preventDefault(); visit(event.key); }
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); activate(icicle.active, true); }
    if (event.key === "Escape") { icicle.zoomed = -1; drawIcicle(); }
  });
  for (const name of ["measure", "width"]) document.getElementById(name).addEventListener("change", event => { icicle[name] = event.target.value; drawIcicle(); });
  document.getElementById("whole").addEventListener("click", () => { icicle.zoomed = -1; drawIcicle(); });
  document.getElementById("find").addEventListener("change", event => {
    const wanted = event.target.value.trim().toLowerCase(), node = data.names.findIndex((_, each) => pathText(each).toLowerCase().includes(wanted));
    if (wanted && node >= 0) { icicle.zoomed = data.parents[node]; activate(node, false); }
    else if (wanted) document.getElementById("node").replaceChildren(element("p", { role: "status" }, `No node contains “${event.target.value}”.`));
  });
  let waiting;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawIcicle, 150); });
  drawIcicle();
}

connectIcicle();
showMistakes();
showPairs();
offerSuspects();
showClasses();
