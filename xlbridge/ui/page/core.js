// What all screens share: texts, requests, and elements. Every value is set as text, never as markup.

const data = JSON.parse(document.getElementById("page-data").textContent);
export const { texts, listings, isOpen, running } = data;
export const byId = (id) => document.getElementById(id);
export const figure = (value) => (typeof value === "number" ? value.toLocaleString(data.language) : value);
export const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => figure(values[name]) ?? "");

// The open sheet as the server told it last, and the rows that the grid shows.
export const state = { sheet: null, view: "wrong" };

// Asks the server, and returns its answer as ``read`` gives it, null where it has none or refuses;
// a refusal says what it is about. What was told before is gone, unless nobody asked for the answer.
async function ask(address, options, read, { about = "", unasked = false } = {}) {
  try {
    const answer = await fetch(address, options);
    const found = answer.ok ? await read(answer) : null;
    const refusal = answer.ok ? null : await answer.json();
    if (refusal || !unasked) showProblem(refusal ? about + said(refusal.error) : "");
    return found;
  } catch (error) {
    if (error.name !== "AbortError") showProblem(texts.lost);
    return null;
  }
}

export function call(path, { body, query, headers, signal, ...telling } = {}) {
  const address = query ? `${path}?${new URLSearchParams(query)}` : path;
  const options = { headers, signal, ...(body === undefined ? {} : { method: "POST", body }) };
  return ask(address, options, (answer) => answer.json(), telling);
}

// Downloads what a link leads to, when the edits so far are made. What is refused is told, and does
// not take the page's place.
async function download(link) {
  link.setAttribute("aria-busy", "true");
  await settled();
  const headers = state.sheet ? { "X-Sheet": state.sheet.id } : {};
  const given = await ask(link.href, { headers }, async (answer) => [fileName(answer), await answer.blob()]);
  link.removeAttribute("aria-busy");
  if (given === null) return;
  const saved = element("a");
  [saved.download, saved.href] = [given[0], URL.createObjectURL(given[1])];
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

export const post = (path, content) => call(path, { body: JSON.stringify(content) });

// Asks about the sheet that is shown: the server refuses where another one was opened meanwhile.
export function ofSheet(path, { content, query, sheet = state.sheet } = {}) {
  const body = content === undefined ? undefined : JSON.stringify(content);
  return call(path, { body, query, headers: { "X-Sheet": sheet.id } });
}

// What changes the open sheet goes one at a time, so that each change reaches the server, and is
// shown, in the order in which they were made. Work that is given here gives none itself.
let last = Promise.resolve();
let waiting = 0;

export function inTurn(work) {
  waiting += 1;
  const done = last.then(work).finally(() => {
    waiting -= 1;
  });
  last = done.catch(() => null);
  return done;
}

export const isIdle = () => waiting === 0;
export const settled = () => inTurn(() => null);

// Begins a question; the function that is returned tells whether none of its topic was begun since.
const questions = new Map();

export function asking(topic) {
  const mine = Symbol(topic);
  questions.set(topic, mine);
  return () => questions.get(topic) === mine;
}

// Asks for what replaces the choices that are shown. Until it is there they cannot be changed, as the
// change would be lost; an answer that a newer question overtook is not shown. Tells whether it was.
let focused = null;

export async function replacing(ask, showAnswer) {
  const isNewest = asking("choices");
  const choices = byId("choices");
  focused = choices.disabled ? focused : document.activeElement;
  choices.disabled = true;
  const answer = await inTurn(ask);
  if (!isNewest()) return false;
  choices.disabled = false;
  if (answer !== null) showAnswer(answer);
  if (focused.isConnected && document.activeElement === document.body) focused.focus();
  return true;
}
export const said = (error) => `${error.message} ${error.hint}`.trim();

export function showProblem(text) {
  byId("problem").textContent = text;
  byId("problem").hidden = !text;
}

const shown = new Map();
export const whenShown = (name, run) => shown.set(name, run);

export function show(name) {
  asking("screen");
  showProblem("");
  for (const section of document.querySelectorAll("main > section")) {
    section.hidden = section.id !== name;
  }
  for (const one of document.querySelectorAll("nav button")) {
    if (one.dataset.view === name) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  if (history.state !== name) history.pushState(name, "", `#/${name}`);
  if (shown.has(name)) shown.get(name)();
}

// Shows the screen that the address names, as after a reload or the browser's Back.
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

export function option(value, text) {
  const one = element("option", text);
  one.value = value;
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

// A work ends before its next step, which may take a while: that it was asked for is shown at once.
for (const one of document.querySelectorAll(".stop")) {
  one.addEventListener("click", async () => {
    one.disabled = true;
    one.textContent = texts.stopping;
    await post("/api/cancel", {});
  });
}

// Follows the work that runs, until it ends; ``show`` is told each state.
let events = null;

export function follow(showState) {
  for (const one of document.querySelectorAll(".stop")) {
    one.disabled = false;
    one.textContent = texts.cancel;
  }
  if (events) events.close();
  events = new EventSource("/api/events");
  events.onmessage = (event) => {
    const told = JSON.parse(event.data);
    showProblem("");
    if (!told.running) events.close();
    showState(told);
    if (!told.running && told.error) showProblem(said(told.error));
  };
  events.onerror = () => showProblem(texts.lost);
}
