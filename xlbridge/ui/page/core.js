// Shared by all screens: texts, requests, elements. Values are always set as text, never as markup.

const data = JSON.parse(document.getElementById("page-data").textContent);
export const { texts, language, isOpen, leftOpen, leftEnvironment, running } = data;
export const byId = (id) => document.getElementById(id);
export const figure = (value) => (typeof value === "number" ? value.toLocaleString(language) : value);
export const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => figure(values[name]) ?? "");

const FORBIDDEN = 403;

// The launch link hands over a key in the fragment. Unlike cookies, storage belongs to this port alone.
const KEY = "xlbridge-key";
const launched = /^#key=(.+)$/.exec(location.hash);
if (launched) {
  localStorage.setItem(KEY, launched[1]);
  history.replaceState(null, "", "/");
}
const withKey = (headers) => ({ ...headers, "X-Page-Key": localStorage.getItem(KEY) ?? "" });

// The open sheet as last received from the server, and the grid's view of its rows.
export const state = { sheet: null, view: "wrong" };

// Sends a request, and returns the answer converted by ``read``, null if there is none or an error.
// An error is shown above the screen with ``prefix``, unless ``showBeside`` shows it beside what it is about and
// returns true. Success clears a message that was shown before the request, unless the request is ``silent``.
// ``lost`` says that the server does not answer.
async function request(address, options, read, { prefix = "", silent = false, showBeside = () => false, lost = texts.lost } = {}) {
  const before = problems;
  try {
    const answer = await fetch(address, { ...options, headers: withKey(options.headers) });
    const content = answer.ok ? await read(answer) : null;
    if (!answer.ok) await showRefusal(answer, prefix, showBeside);
    else if (!silent && problems === before) showProblem("");
    return content;
  } catch (error) {
    if (error.name !== "AbortError") showProblem(lost);
    return null;
  }
}

// Only a request without access is answered with plain text.
async function showRefusal(answer, prefix, showBeside) {
  if (answer.status === FORBIDDEN) {
    showProblem(prefix + (await answer.text()));
    return;
  }
  const { error } = await answer.json();
  showProblem(showBeside(error) ? "" : prefix + errorText(error));
}

export function call(path, { body, query, headers, signal, ...reporting } = {}) {
  const address = query ? `${path}?${new URLSearchParams(query)}` : path;
  const options = { headers, signal, ...(body === undefined ? {} : { method: "POST", body }) };
  return request(address, options, (answer) => answer.json(), reporting);
}

// Downloads the target of a link once pending edits are done. An error is shown as a message instead
// of replacing the page.
async function download(link) {
  link.setAttribute("aria-busy", "true");
  await settled();
  const headers = state.sheet ? { "X-Sheet": state.sheet.id } : {};
  const file = await request(link.href, { headers }, async (answer) => [fileName(answer), await answer.blob()]);
  link.removeAttribute("aria-busy");
  if (file === null) return;
  const saved = element("a");
  [saved.download, saved.href] = [file[0], URL.createObjectURL(file[1])];
  saved.click();
  setTimeout(() => URL.revokeObjectURL(saved.href), 60_000);
}

function fileName(answer) {
  const header = answer.headers.get("Content-Disposition");
  const [, encoded, plain] = /filename(?:\*=utf-8''([^;]+)|="([^"]+)")/i.exec(header);
  return encoded ? decodeURIComponent(encoded) : plain;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="/api/"]');
  if (link === null) return;
  event.preventDefault();
  if (!link.hasAttribute("aria-busy")) download(link);
});

export const post = (path, content, reporting) => call(path, { body: JSON.stringify(content), ...reporting });

// Sends a request about the shown sheet; the server refuses it if another one was opened meanwhile.
export function callSheet(path, { content, query, sheet = state.sheet, ...reporting } = {}) {
  const body = content === undefined ? undefined : JSON.stringify(content);
  return call(path, { body, query, headers: { "X-Sheet": sheet.id }, ...reporting });
}

// Changes of the open sheet run one at a time, so that they reach the server, and are shown, in the
// order in which they were made. A task must not enqueue another one.
let last = Promise.resolve();
let waiting = 0;

export function enqueue(task) {
  waiting += 1;
  const done = last.then(task).finally(() => {
    waiting -= 1;
  });
  last = done.catch(() => null);
  return done;
}

export const isIdle = () => waiting === 0;
export const settled = () => enqueue(() => null);

// Starts a request on a topic; returns a function that is true until a newer one is started.
const started = new Map();

export function startRequest(topic) {
  const id = Symbol(topic);
  started.set(topic, id);
  return () => started.get(topic) === id;
}

// Returns the answer to a request, null if a newer one on its topic was started meanwhile.
export async function newest(topic, request) {
  const isNewest = startRequest(topic);
  const answer = await request;
  return isNewest() ? answer : null;
}

// Requests new choices. The present ones are disabled until the answer is there, as changes would be
// lost; an answer overtaken by a newer request is not shown. Returns whether it was the newest.
let focused = null;

export async function replaceChoices(load, showAnswer) {
  const isNewest = startRequest("choices");
  const choices = byId("choices");
  focused = choices.disabled ? focused : document.activeElement;
  choices.disabled = true;
  const answer = await enqueue(load);
  if (!isNewest()) return false;
  choices.disabled = false;
  if (answer !== null) showAnswer(answer);
  if (focused.isConnected && document.activeElement === document.body) focused.focus();
  return true;
}

export const errorText = (error) => `${error.message} ${error.hint}`.trim();

let problems = 0; // messages shown so far

export function showProblem(text) {
  if (text) problems += 1;
  byId("problem").textContent = text;
  byId("problem").hidden = !text;
}

// Shows a message beside a field, until the field changes.
let fieldProblems = 0;

export function showFieldProblem(control, message) {
  dropFieldProblem(control);
  fieldProblems += 1;
  const beside = element("div", message, "field-problem");
  beside.id = `problem-${fieldProblems}`;
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-describedby", beside.id);
  (control.closest("label") ?? control).after(beside);
  control.addEventListener("input", () => dropFieldProblem(control), { once: true });
}

// Shows a message beside each field that lacks a value or has one of another form, which its title describes, and
// goes to the first one; returns whether there is none.
export function checkFields(controls) {
  const wrong = [...controls].filter((one) => !one.checkValidity());
  for (const one of wrong) showFieldProblem(one, (one.validity.valueMissing ? "" : one.title) || texts.fill_in);
  wrong[0]?.focus();
  return !wrong.length;
}

// Shows messages beside the fields that ``find`` returns by their names, and goes to the first one; returns false
// for a message about something else.
export const besideFields = (find) => ({ fields }) => {
  const controls = (fields ?? []).map((one) => [find(one.column), one.message]).filter(([control]) => control);
  for (const [control, message] of controls) showFieldProblem(control, message);
  controls[0]?.[0].focus();
  return controls.length > 0;
};

export function dropFieldProblem(control) {
  document.getElementById(control.getAttribute("aria-describedby"))?.remove();
  control.removeAttribute("aria-invalid");
  control.removeAttribute("aria-describedby");
}

export const isFocusLost = () => document.activeElement.matches("body, [hidden] *");

const shown = new Map();
export const whenShown = (name, run) => shown.set(name, run);

export function show(name) {
  startRequest("screen");
  showProblem("");
  for (const section of document.querySelectorAll("main > section")) {
    section.hidden = section.id !== name;
  }
  for (const one of document.querySelectorAll("nav button")) {
    if (one.dataset.view === name) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  for (const one of byId("help").children) one.hidden = one.dataset.help !== name;
  if (history.state !== name) history.pushState(name, "", `#/${name}`);
  if (shown.has(name)) shown.get(name)();
}

// Shows the screen named by the address, after a reload or the browser's Back.
export function showAddressed() {
  const wanted = location.hash.slice(2);
  const one = document.querySelector(`nav button[data-view="${CSS.escape(wanted)}"]:enabled`);
  const name = one ? wanted : "begin";
  history.replaceState(name, "", `#/${name}`);
  show(name);
}

window.addEventListener("popstate", showAddressed);

export function element(name, text, classes) {
  const one = document.createElement(name);
  if (classes) one.className = classes;
  if (text !== undefined) one.textContent = text;
  return one;
}

// Shows an element for each value, made by ``make``. Those of values that are shown already stay, with the focus: the
// browser lays out the new ones alone.
const shownValues = new WeakMap();

export function showEach(box, values, make) {
  const before = shownValues.get(box) ?? new Map();
  const now = new Map();
  for (const value of values) {
    const key = JSON.stringify(value);
    const one = before.get(key);
    now.set(key, one?.parentNode === box ? one : make(value));
  }
  shownValues.set(box, now);
  const elements = [...now.values()];
  for (const one of [...box.children]) if (!elements.includes(one)) one.remove();
  for (const [n, one] of elements.entries()) {
    if (box.children[n] !== one) box.insertBefore(one, box.children[n] ?? null);
  }
}

export const input = (type, properties) => Object.assign(element("input"), { type, ...properties });

export function button(text, run, classes) {
  const one = element("button", text, classes);
  one.addEventListener("click", run);
  return one;
}

export function link(text, path, query, testid) {
  const one = element("a", text, "button");
  one.href = `${path}?${new URLSearchParams(query)}`;
  if (testid) one.dataset.testid = testid;
  return one;
}

export const option = (value, text, title = "") => Object.assign(element("option", text), { value, title });

// A list of values with their texts.
export function select(options, { value, ...properties } = {}) {
  const one = Object.assign(element("select"), properties);
  one.append(...options.map((pair) => option(...pair)));
  one.value = value ?? "";
  return one;
}

export function labelled(text, control) {
  const one = element("label", `${text} `);
  one.append(control);
  return one;
}

export function tableLine(values, kind = "td") {
  const line = document.createElement("tr");
  for (const value of values) {
    const one = document.createElement(value === "" ? "td" : kind);
    if (Array.isArray(value)) one.append(...value);
    else one.append(value);
    line.append(one);
  }
  return line;
}

// A line of titles and the lines below it; on a narrow window each value has its title beside it.
export function tableRows(titles, lines) {
  for (const line of lines) {
    for (const [at, one] of [...line.children].entries()) if (titles[at]) one.dataset.title = titles[at];
  }
  return [tableLine(titles, "th"), ...lines];
}

// Lines of a report's table; ``addition`` returns what a line shows below its last cell, ``last`` the
// content of one more cell.
export function reportLines(shown, { addition = () => [], last = null } = {}) {
  const more = last ? [""] : [];
  const titles = shown.headings.map((heading) => heading.title);
  const lines = shown.lines.map((line, at) => {
    const row = tableLine([...line.cells, ...(last ? [last(at)] : [])]);
    row.classList.add(line.tone);
    const below = line.below.map((text) => element("div", text, "below"));
    row.children[line.cells.length - 1].append(...below, ...addition(at));
    return row;
  });
  const all = titles.length ? tableRows([...titles, ...more], lines) : lines;
  for (const row of all) {
    shown.headings.forEach((heading, at) => row.children[at].classList.toggle("number", heading.numeric));
  }
  return all;
}

export function reportTable(shown, options, classes) {
  const table = element("table", undefined, classes);
  table.append(...reportLines(shown, options));
  const listed = element("div", undefined, "scroll");
  listed.append(table);
  return listed;
}

const PROGRESS_INTERVAL = 300; // milliseconds

// Work stops before its next step, which may take a while: the button shows at once that it was pressed.
for (const one of document.querySelectorAll(".stop")) {
  one.addEventListener("click", async () => {
    one.disabled = true;
    one.textContent = texts.stopping;
    await post("/api/cancel", {});
  });
}

// Shows the lines that work has printed, the last one in sight; folded once there is an outcome to read instead.
export function showLines(log, work, empty) {
  log.parentElement.open = !work.outcome && !work.error;
  log.textContent = work.lines.join("\n") || empty;
  log.scrollTop = log.scrollHeight;
}

// Shows the share of work that is done, and the time left at its pace; without a total, how much is done.
const paces = new WeakMap(); // what was done when the work of a bar began, and when

export function showShare(box, { done = 0, total = 0 } = {}) {
  box.hidden = !total && !done;
  if (!total) {
    paces.delete(box);
    box.firstElementChild.removeAttribute("value");
    box.lastElementChild.textContent = fill(texts.steps_done, { done });
    return;
  }
  const before = paces.get(box);
  if (!(before?.done <= done && before.total === total)) paces.set(box, { done, total, at: performance.now() });
  const begun = paces.get(box);
  const left = Math.ceil(((performance.now() - begun.at) / 1000 / (done - begun.done)) * (total - done));
  const share = { percent: Math.floor((100 * done) / total), done, total };
  const time = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  const texted = [fill(texts.share_done, share), ...(left > 0 && left < Infinity ? [fill(texts.time_left, { time })] : [])];
  box.firstElementChild.value = done / total;
  box.lastElementChild.textContent = texted.join(" · ");
}

// Offers to stop the work that begins.
export function resetStops() {
  for (const one of document.querySelectorAll(".stop")) {
    one.disabled = false;
    one.textContent = texts.cancel;
  }
}

// Calls ``show`` with the state of work again and again, until it returns true.
async function poll(path, reporting, show) {
  const { signal } = reporting;
  while (!signal.aborted) {
    const work = await call(path, reporting);
    if (work !== null && !signal.aborted && show(work)) return;
    await new Promise((resume) => setTimeout(resume, PROGRESS_INTERVAL));
  }
}

// Shows the state of work until its request is answered; returns the answer.
export function showUntil(answered, path, show) {
  const waiting = new AbortController();
  poll(path, { signal: waiting.signal, silent: true }, show);
  return answered.finally(() => waiting.abort());
}

// Follows the running work until it ends, with its share and its stop button; calls ``showState`` with
// each state.
let following = null;

export function follow(name, showState) {
  resetStops();
  following?.abort();
  following = new AbortController();
  return poll("/api/work", { signal: following.signal, silent: true, lost: texts.lost_work }, (work) => {
    if (byId("problem").textContent === texts.lost_work) showProblem("");
    showShare(byId(`${name}-share`), work.running ? work : {});
    byId(`${name}-cancel`).hidden = !work.running;
    showState(work);
    if (!work.running && work.error) showProblem(errorText(work.error));
    return !work.running;
  });
}

// Shows a dialog, and runs what its main button does; other buttons and keys close it.
export function ask(dialog, run) {
  dialog.returnValue = "";
  dialog.onclose = () => dialog.returnValue && run();
  dialog.showModal();
}

// Shows the plan that a button asks for, built by ``load``; returns it, null if it failed or is outdated.
export async function planBy(one, shown, topic, load) {
  const isNewest = startRequest(topic);
  one.disabled = true;
  shown.hidden = false;
  shown.replaceChildren(texts.planning);
  const planned = await load();
  if (!isNewest()) return null;
  one.disabled = false;
  shown.hidden = planned === null;
  return planned;
}

// Runs what a button starts; until it has failed, the button cannot be pressed again.
export async function startBy(one, run) {
  one.disabled = true;
  const started = await run();
  if (!started) one.disabled = false;
  return started;
}

// Follows work that the button of its name starts, with its last line; calls ``showOutcome`` at the end. Of
// stopped work the line that says so stays.
export function followLine(name, showOutcome) {
  const line = byId(`${name}-progress`);
  line.textContent = texts.reading_records;
  follow(name, (work) => {
    byId(name).disabled = work.running;
    const last = work.outcome || work.error ? "" : work.lines.at(-1);
    line.textContent = last ?? texts.reading_records;
    if (work.outcome) showOutcome(work.outcome);
  });
}
