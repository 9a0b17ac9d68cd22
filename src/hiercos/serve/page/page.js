"use strict";
// The page of the service: one input, a table, and the review of a queue. Names and inputs enter it as text alone.
const $ = id => document.getElementById(id);
const percent = value => (100 * value).toFixed(value > 0.995 && value < 1 ? 1 : 0) + "%";
const state = { facts: {}, limits: {}, within: [], image: null, last: null, token: sessionStorage.token || "" };

function made(name, text = "", attributes = {}) {
  const element = Object.assign(document.createElement(name), { textContent: text });
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

const tell = sentence => { $("fault").textContent = sentence; $("fault").hidden = !sentence; };

// ---- requests ----
async function call(path, options = {}) {
  const headers = { ...options.headers, ...(state.token ? { Authorization: `Bearer ${state.token}` } : {}) };
  const answer = await fetch(path, { ...options, headers }).catch(() => {
    throw new Error("The service does not answer. Is it still running?");
  });
  if (answer.status === 401) $("token").hidden = false;
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error || `The service answered ${answer.status}.`);
  return answer;
}
const json = async (path, options) => (await call(path, options)).json();
const post = (path, body) =>
  json(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
const query = values => "?" + new URLSearchParams({ model: $("model").value, ...values });

const guarded = work => async (...given) => {
  tell("");
  return work(...given).catch(error => tell(error.message));
};

// ---- the model ----
const start = guarded(async () => {
  const { models, limits, review } = await json("models");
  state.limits = limits;
  $("token").hidden = true;
  $("model").replaceChildren(...models.map(name => made("option", name, { value: name })));
  $("models").hidden = models.length < 2;
  document.querySelector("[data-part=review]").hidden = !review;
  await choose();
});

const choose = guarded(async () => {
  state.facts = await json("model" + query());
  Object.assign(state, { within: [], last: null });
  const { kinds, classes, levels, name, metrics } = state.facts;
  const tested = metrics.top1 === undefined ? "" : ` On its test rows ${percent(metrics.top1)} of the classes were right.`;
  $("about").textContent = `${name}: ${classes.toLocaleString()} classes on ${levels.length} levels.${tested}`;
  $("as-text").hidden = kinds[0] !== "texts";
  $("as-image").hidden = kinds[0] !== "images";
  $("as-numbers").hidden = kinds[0] !== "vectors";
  $("as-columns").hidden = kinds[0] !== "columns";
  $("as-columns").replaceChildren(...Object.entries(state.facts.columns || {}).map(([name, kind]) => {
    const field = made("label", `${name} `);
    field.append(made("input", "", { "data-column": name, "data-kind": kind, placeholder: kind }));
    return field;
  }));
  document.querySelector("[data-part=batch]").hidden = !["texts", "columns"].includes(kinds[0]);
  $("column").parentElement.hidden = kinds[0] !== "texts";
  $("result").hidden = true;
  showWithin();
  showExamples();
});

function showExamples() {
  $("examples").hidden = !state.facts.examples.length;
  $("examples").replaceChildren(made("span", "Try:", { class: "small" }), ...state.facts.examples.map(({ text, image }, place) => {
    const button = made("button", text || "", { type: "button", "aria-label": text || `Example image ${place + 1}` });
    if (image) button.append(made("img", "", { src: image, alt: "" }));
    button.onclick = () => { if (image) took(fileOf(image)); else { $("text").value = text; ask(); } };
    return button;
  }));
}

const numbersOf = text => text.trim().split(/[\s,;]+/).map(Number);
const rowOf = cells => Object.fromEntries(cells.map(({ value, dataset }) =>
  [dataset.column, dataset.kind === "vector" ? numbersOf(value) : value]));
const fileOf = uri => new File([Uint8Array.from(atob(uri.split(",")[1]), letter => letter.charCodeAt(0))], "example.jpg");

// ---- one input ----
function took(file) {
  if (!file) return;
  state.image = file;
  $("shown").src = URL.createObjectURL(file);
  $("shown").hidden = false;
  ask();
}

const ask = guarded(async () => {
  const confidence = Number($("confidence").value) / 100;
  const options = state.facts.rule === "several"
    ? { model: $("model").value, ...(state.moved ? { confidence } : {}) }
    : { model: $("model").value, top: 6, explain: true, level_confidences: true, confidence };
  if (state.within.length) options.within = state.within;
  const kind = state.facts.kinds[0];
  const number = state.asked = (state.asked || 0) + 1;
  let found;
  if (kind === "images") {
    if (!state.image) throw new Error("Choose an image first.");
    checkSize(state.image);
    const body = new FormData();
    body.append("images", state.image);
    body.append("request", JSON.stringify(options));
    found = await json("predict", { method: "POST", body });
  } else {
    const cells = [...document.querySelectorAll("[data-column]")].filter(each => each.value.trim());
    const text = kind === "columns" ? cells.length : $(kind === "texts" ? "text" : "numbers").value.trim();
    if (!text) throw new Error("Type something first.");
    found = await post("predict", { ...options, inputs: kind === "texts" ? text : kind === "columns" ? rowOf(cells) : numbersOf(text) });
  }
  if (number !== state.asked) return; // a later question is on its way
  state.last = found.answers[0];
  show(state.last);
});

function checkSize(file) {
  const [size, most] = [file.size, state.limits.body_bytes].map(bytes => (bytes / 1e6).toFixed(0));
  if (file.size > state.limits.body_bytes) throw new Error(`${file.name} has ${size} MB; this service takes at most ${most} MB.`);
}

// Nodes from level 1 down to the answer, then on to the likeliest class if it is below the answer.
function steps(answer) {
  if (answer.ancestors !== undefined) { // a graph: the ancestors of the answer
    const names = [...JSON.parse(answer.ancestors), ...(answer.class ? [answer.class] : [])];
    return names.map((name, place) => ({ name, probability: place === names.length - 1 ? answer.confidence : null, sure: true }));
  }
  const of = (found, sure) => state.facts.levels.filter(level => found[level]).map(level =>
    ({ name: found[level], probability: found[`${level}_confidence`], sure }));
  const path = of(answer, true), likeliest = of(answer.top[0], false);
  return path.every((step, place) => likeliest[place]?.name === step.name) ? [...path, ...likeliest.slice(path.length)] : path;
}

// The labels of a model of several, each with a bar.
function showSeveral(labels) {
  const names = labels.map(each => each.path).join(", ");
  $("sentence").textContent = labels.length ? `This is ${names}.` : "No label is likely enough.";
  $("because").textContent = $("measured").textContent = "";
  showSteps(labels.map(each => ({ name: each.path, probability: each.confidence, sure: true })));
  $("runners").replaceChildren();
  $("result").hidden = false;
}

function show(answer) {
  if (answer.answers) return showSeveral(answer.answers);
  const path = steps(answer), asked = Number($("confidence").value) / 100;
  const deepest = path.filter(step => step.sure).at(-1);
  let sentence = deepest
    ? `${answer.class ? "This is" : "This is somewhere in"} ${deepest.name}: ${percent(answer.confidence)} sure.`
    : `The model cannot say: no branch reaches ${percent(asked)}.`;
  if (answer.next) {
    if (path.at(-1) === deepest) path.push({ name: answer.next, probability: answer.next_confidence, sure: false });
    sentence += ` The likeliest ${deepest ? "below it" : "one"} is ${answer.next}, ${percent(answer.next_confidence)} sure.`;
  }
  $("sentence").textContent = sentence;
  $("because").textContent = !answer.because || answer.because === "unavailable" ? "" : `Because of: ${answer.because}`;
  showSteps(path);
  $("runners").replaceChildren(...branches(tree(answer.top)));
  showMeasured(asked);
  $("result").hidden = false;
}

function showSteps(steps) {
  $("path").replaceChildren(...steps.map(step => {
    const item = made("li", "", step.sure ? {} : { class: "less" });
    const bar = made("span", "", { class: "bar", "aria-hidden": "true" });
    bar.append(made("i"));
    bar.firstChild.style.width = `${100 * (step.probability ?? 0)}%`;
    item.append(made("b", step.name), made("span", step.probability == null ? "" : percent(step.probability)), bar);
    return item;
  }));
}

function tree(listed) {
  const root = { children: new Map() };
  for (const each of listed || []) {
    const levels = state.facts.levels.filter(level => each[level]);
    const names = each.ancestors !== undefined
      ? [...JSON.parse(each.ancestors).map(name => [name, null]), [each.class, each.confidence]]
      : levels.map(level => [each[level], each[`${level}_confidence`]]);
    let node = root;
    for (const [name, value] of names) {
      if (!node.children.has(name)) node.children.set(name, { children: new Map(), value });
      node = node.children.get(name);
    }
  }
  return root;
}

function branches(node) {
  return [...node.children].map(([name, child]) => {
    const item = made("li"), line = made("div");
    line.append(made("b", name), made("span", child.value === null ? "" : percent(child.value)));
    item.append(line);
    const list = made("ul");
    list.append(...branches(child));
    if (child.children.size) item.append(list);
    return item;
  });
}

function showMeasured(asked) {
  const points = state.facts.curve || [];
  const point = points.reduce((best, each) => Math.abs(each.confidence - asked) < Math.abs(best.confidence - asked) ? each : best, points[0]);
  $("measured").textContent = point
    ? `Measured on ${point.rows.toLocaleString()} held-out rows at ${percent(point.confidence)}: ${percent(point.precision)} of the answers are right, ${percent(point.coverage)} of the rows get an answer, ${percent(point.classes)} one down to a class.`
    : "There are no held-out rows to measure this setting on.";
}

// ---- a search over the taxonomy, for branches and for corrections ----
function picker(input, list, chosen) {
  let found = [], place = -1, timer, asked = 0;
  const shown = is => { list.hidden = !is; input.setAttribute("aria-expanded", String(is)); };
  const close = () => { shown(false); place = -1; input.removeAttribute("aria-activedescendant"); };
  const mark = next => {
    place = (next + found.length) % found.length;
    [...list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === place)));
    list.children[place].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", list.children[place].id);
  };
  const take = at => { asked++; chosen(found[at]); input.value = ""; close(); };
  input.oninput = () => {
    clearTimeout(timer);
    close(); // a key must not take what another text has found
    const number = ++asked;
    timer = setTimeout(guarded(async () => {
      if (!input.value.trim()) return;
      const { items } = await json("taxonomy" + query({ search: input.value, limit: 12 }));
      if (number !== asked) return;
      found = items;
      list.replaceChildren(...found.map((node, at) => {
        const item = made("li", node.name, { role: "option", id: `${list.id}-${at}`, "aria-selected": "false" });
        if (node.path !== node.name) item.append(made("small", node.path));
        item.onmousedown = event => { event.preventDefault(); take(at); };
        return item;
      }));
      shown(found.length > 0);
    }), 120);
  };
  input.onkeydown = event => {
    if (event.key === "Escape") close();
    if (list.hidden) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step || event.key === "Enter") event.preventDefault();
    if (step) mark(place + step);
    if (event.key === "Enter") take(Math.max(place, 0));
  };
  input.onblur = close;
}

function showWithin() {
  $("within").replaceChildren(...state.within.map(path => {
    const chip = made("span", path, { class: "chip" }), remove = made("button", "✕", { type: "button", "aria-label": `Remove ${path}` });
    remove.onclick = () => restrict(state.within.filter(each => each !== path));
    chip.append(remove);
    return chip;
  }));
}

function restrict(paths) {
  state.within = paths;
  showWithin();
  if (state.last) ask();
}

// ---- a table ----
const TYPES = { csv: "text/csv", tsv: "text/tab-separated-values", jsonl: "application/jsonl", parquet: "application/vnd.apache.parquet" };
const upload = guarded(async () => {
  const file = $("table").files[0];
  if (!file) throw new Error("Choose a table first.");
  checkSize(file);
  const type = TYPES[file.name.split(".").pop().toLowerCase()];
  if (!type) throw new Error(`${file.name}: expected a file that ends in ${Object.keys(TYPES).join(", ")}.`);
  const options = { model: $("model").value, ...($("sure").checked ? { confidence: Number($("confidence").value) / 100 } : {}) };
  const values = { options: JSON.stringify(options), ...(state.facts.kinds[0] === "texts" ? { input_column: $("column").value || "text" } : {}) };
  $("download").replaceChildren();
  $("upload").disabled = true;
  const sent = { method: "POST", headers: { "Content-Type": type }, body: file };
  await call("predict/table?" + new URLSearchParams(values), sent).then(answer => receive(answer, file.name)).finally(() => {
    $("upload").disabled = false;
    $("progress").hidden = true;
  });
});

async function receive(answer, name) {
  const total = Number(answer.headers.get("X-Rows")), parts = [], reader = answer.body.getReader();
  let rows = -1;
  $("progress").hidden = false;
  $("bar").max = total;
  for (let part = await reader.read().catch(() => { throw new Error("The answers ended early; try again."); }); !part.done; part = await reader.read()) {
    parts.push(part.value);
    rows += part.value.reduce((count, byte) => count + (byte === 10), 0);
    $("bar").value = Math.min(rows, total);
    $("done").textContent = `${Math.min(Math.max(rows, 0), total).toLocaleString()} of ${total.toLocaleString()}`;
  }
  const saved = name.replace(/\.[^.]*$/, "") + "-answers.csv";
  const link = made("a", `Save ${saved}`, { download: saved, href: URL.createObjectURL(new Blob(parts, { type: "text/csv" })) });
  $("download").replaceChildren(`${total.toLocaleString()} rows are answered. `, link);
}

// ---- the review of a queue ----
const review = { row: null, past: [] };

const nextRow = guarded(async () => {
  const who = localStorage.who = $("who").value.trim();
  if (!who) return tell("Type your name first: it is written beside your decisions.");
  showRow(await json("review/next?" + new URLSearchParams({ who, second: $("second").checked })));
});

function showRow(row) {
  review.row = row.place === null ? null : row;
  $("row").hidden = !review.row;
  for (const id of ["level", "none", "skip"]) $(id).disabled = !review.row;
  $("undo").disabled = !review.past.length;
  const agreement = row.shared ? ` ${row.shared} have several decisions, ${percent(row.agreement)} of them agree.` : "";
  $("count").textContent = `${row.done} of ${row.rows} rows are decided.${agreement}${review.row ? "" : " Nothing is left for you."}`;
  if (!review.row) return;
  $("asked").textContent = row.text || "";
  $("asked").hidden = !row.text;
  $("asked-image").hidden = !row.image;
  $("asked-image").src = row.image || "data:,";
  const settles = ` You decide ${row.settles}.`;
  $("known").textContent = row.sure ? `The model is ${percent(row.confidence)} sure of ${row.sure}.${settles}` : `The model is sure of nothing.${settles}`;
  $("level").disabled = !row.sure;
  $("candidates").replaceChildren(...row.candidates.map((each, place) => {
    const item = made("li"), button = made("button", "", { type: "button", "data-key": String(place + 1) });
    const below = each.path.startsWith(`${row.sure} > `) ? each.path.slice(row.sure.length + 3) : each.path;
    const names = below.split(" > "), named = made("div");
    named.append(made("b", names.at(-1)), made("small", names.slice(0, -1).join(" > ")));
    button.append(made("kbd", String(place + 1)), named, made("span", percent(each.probability)));
    button.onclick = () => decide("node", each.path);
    item.append(button);
    return item;
  }));
}

// Writes one thing down and shows the next row; until then another key decides nothing.
async function settle(row, decision, node = null) {
  if (!row || review.busy) return;
  review.busy = true;
  try {
    await post("review/decisions", { place: row.place, decision, node, who: $("who").value.trim() });
    if (decision === "undo") review.past.pop(); else review.past.push(row);
    await nextRow();
  } finally { review.busy = false; }
}
const decide = guarded((decision, node) => settle(review.row, decision, node));
const undo = guarded(() => settle(review.past.at(-1), "undo"));

const KEYS = { l: () => decide("node", review.row.sure), n: () => decide("none"), s: () => decide("skip"), u: undo, "/": () => $("other").focus() };
document.addEventListener("keydown", event => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "checkbox";
  if ($("review").hidden || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const candidate = document.querySelector(`#candidates [data-key="${CSS.escape(event.key)}"]`);
  const work = candidate ? () => candidate.click() : event.key === "l" ? () => $("level").click() : KEYS[event.key];
  if (!work) return;
  event.preventDefault();
  work();
});
for (const [id, key] of Object.entries({ level: "l", none: "n", skip: "s", undo: "u" })) $(id).onclick = KEYS[key];
$("who").value = localStorage.who || "";
$("who").onchange = () => { review.past = []; nextRow(); };
$("who").onkeydown = event => { if (event.key === "Enter") $("who").blur(); };
$("second").onchange = nextRow;
picker($("other"), $("others"), node => { $("other").blur(); decide("node", node.path); });

// ---- the parts of the page ----
function open(part) {
  for (const button of document.querySelectorAll("[data-part]")) {
    button.setAttribute("aria-pressed", String(button.dataset.part === part));
    $(button.dataset.part).hidden = button.dataset.part !== part;
  }
  tell("");
  if (part === "review" && $("who").value) nextRow();
}

$("confidence").oninput = () => {
  state.moved = true;
  $("percent").textContent = $("sure-percent").textContent = percent(Number($("confidence").value) / 100);
  clearTimeout(state.moving);
  state.moving = setTimeout(ask, 150);
};
$("form").onsubmit = event => { event.preventDefault(); ask(); };
$("text").onkeydown = event => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(); };
$("image").onchange = () => took($("image").files[0]);
$("drop").ondragover = event => { event.preventDefault(); $("drop").classList.add("over"); };
$("drop").ondragleave = () => $("drop").classList.remove("over");
$("drop").ondrop = event => { $("drop").ondragleave(); event.preventDefault(); took(event.dataTransfer.files[0]); };
$("model").onchange = choose;
$("upload").onclick = upload;
$("token").onsubmit = event => { event.preventDefault(); sessionStorage.token = state.token = $("secret").value; start(); };
$("tabs").onclick = event => { if (event.target.dataset.part) open(event.target.dataset.part); };
picker($("branch"), $("branches"), node => restrict([...new Set([...state.within, node.path])]));
start();
