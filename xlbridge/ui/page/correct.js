// Correct: the grid of the sheet, the list of rules, corrections of all cells of a rule.

import { ask, button, byId, call, callSheet, element, enqueue, figure, fill, input, isFocusLost, isIdle, language, leftEnvironment, newest, option, settled, show, showEach, showProblem, state, tableLine, tableRows, texts, whenShown } from "./core.js";
import { openFind, setUpFind } from "./find.js";
import { Grid } from "./grid.js";
import { fillDown, openCellMenu, openColumnMenu, setUpMenus } from "./menus.js";

const LONGEST_VALUE = 200; // characters of a value shown next to its messages
const NO_RECORDS = ["row-total", "row-note", "row-struck", "row-header-again"];
const READINGS = {
  "date-ambiguous": ["dates", [["dmy", texts.dates_dmy], ["mdy", texts.dates_mdy]]],
  "number-ambiguous": ["numbers", [["pt", "1.234,56"], ["en", "1,234.56"]]],
};
let dropPlan = null; // called when the sheet has changed since it was planned
let planSheet = null; // plans the sheet that the user wants to send
let saving = 0; // changes that are not stored yet
let saved = ""; // what became of the last one
const grid = new Grid(byId("grid"), {
  rowsOf(view) {
    const sheet = state.sheet;
    return async (start, count, renew) => {
      const rows = await callSheet("/api/rows", { query: { start, count, view, renew: renew ? "1" : "0" }, sheet });
      if (rows !== null && rows.version !== state.sheet?.version) refresh();
      return rows;
    };
  },
  edit(findCells) {
    const { columns } = state.sheet;
    return change("/api/edit", async () => {
      const cells = await findCells();
      return cells && cells.map((one) => ({ row: one.row, column: columns[one.column].index, value: one.value }));
    });
  },
  isIdle,
  current: showRemark,
  nextError,
  step,
  async edge(row, place, down) {
    const query = { row, column: state.sheet.columns[place].index, view: state.view, down: down ? "1" : "0" };
    return (await callSheet("/api/edge", { query }))?.position ?? null;
  },
  async lookUp(column, text) {
    const found = await newest("names", callSheet("/api/names", { query: { column: column.index, text } }));
    if (found === null) return null;
    if (found.read) grid.load();
    return found.records.map(({ value, code, name }) => ({ value, text: `${code} · ${name}` }));
  },
  layout: setLayout,
  columnMenu: openColumnMenu,
  cellMenu: openCellMenu,
  find: openFind,
  fill: () => fillDown(),
  showTotal: (n) => (byId("arranged").textContent = fill(texts.clear_arrangement, { n: figure(n) })),
  outside: () => showProblem(texts.outside),
  tooLong: () => showProblem(texts.too_long),
});

export function showSheet(answer) {
  if (state.sheet && state.sheet.file !== answer.file) saved = "";
  grid.clear();
  byId("remark").textContent = "";
  update(answer);
  const shown = changeView(answer.rows && answer.rules.some((one) => !one.of_header) ? "wrong" : "all");
  shown.then(() => showNames(answer));
  return shown;
}

// Reads the names that codes stand for, once the rows are there, and shows them beside the codes.
async function showNames(sheet) {
  if (sheet.id !== state.sheet?.id || !sheet.columns.some((one) => one.has_names)) return;
  const answer = await callSheet("/api/known-names", { sheet, silent: true });
  if (answer?.new && sheet.id === state.sheet?.id) grid.load();
}

// Shows the chosen sheet or a child sheet. No row is shown until it is loaded, so that nothing typed
// meanwhile goes to the wrong sheet.
export async function showPart(name) {
  grid.commit();
  if (name !== state.sheet.shown) grid.clear();
  if (!(await change("/api/part", () => ({ sheet: name })))) await grid.load();
}

function update(answer) {
  const before = state.sheet;
  state.sheet = answer;
  byId("counts").textContent = answer.counts;
  showSteps();
  byId("unit").hidden = answer.unit === null;
  if (answer.unit) byId("unit").textContent = fill(texts.unit_how, answer.unit);
  grid.setColumns(answer.columns, answer.layout);
  byId("arranged").hidden = !answer.layout.sort && !Object.keys(answer.layout.filters).length;
  if (answer.rules.length) showEach(byId("rules"), answer.rules, ruleItem);
  else byId("rules").replaceChildren(element("li", texts.no_rules, "quiet"));
  const parts = answer.parts.map((one) => option(one.sheet, `${one.sheet} · ${figure(one.errors + one.refused)}`));
  byId("part").replaceChildren(...parts);
  byId("part").value = answer.shown;
  byId("part").hidden = parts.length < 2;
  if (!before || before.version !== answer.version) dropPlan();
}

// Offers undo and redo where they do something, and shows what is restored. While changes are under way
// nobody knows yet, and both are offered.
function showSteps() {
  for (const name of ["undo", "redo"]) {
    byId(name).disabled = isIdle() && !state.sheet?.[name];
    byId(name).title = state.sheet?.[name] ?? "";
  }
  byId("undo-what").textContent = state.sheet?.undo ? fill(texts.undo_what, { what: state.sheet.undo }) : "";
  byId("saved").textContent = saving ? texts.saving : saved || (state.sheet?.edited ? texts.saved : "");
}

// Says that the page was started again, with the work that it left.
export function showReopened() {
  saved = leftEnvironment ? fill(texts.reopened_elsewhere, { name: leftEnvironment }) : texts.reopened;
  showSteps();
}

// Shows the counts and findings of a sheet that was changed in another tab, or refused by the system.
export function refresh() {
  const done = enqueue(async () => {
    const answer = await call("/api/sheet", { silent: true });
    if (answer !== null && answer.id === state.sheet?.id) update(answer);
  });
  return done.finally(showSteps);
}

// Shows the plan of a sheet that can be sent.
export async function goToSend() {
  show("send");
  await settled();
  if (state.sheet && state.sheet.sendable) planSheet();
}

// Changes the sheet shown now, after earlier changes; returns whether it succeeded.
function change(path, findContent, { renew = false, keep = true } = {}) {
  const sheet = state.sheet;
  saving += 1;
  const done = enqueue(async () => {
    const content = await findContent();
    const query = path === "/api/edit" ? grid.shownRows : undefined;
    const answer = content === null ? null : await callSheet(path, { content, query, sheet });
    if (content !== null) saved = answer === null ? texts.not_saved : fill(texts.saved_at, { time: clock() });
    if (answer === null) return false;
    if (answer.id !== sheet.id) {
      await showSheet(answer);
      return true;
    }
    update(answer);
    await grid.load({ renew, keep, known: answer.window });
    if (!grid.total) byId("remark").textContent = "";
    grid.notifyCurrent();
    return true;
  });
  showSteps();
  return done.finally(() => {
    saving -= 1;
    showSteps();
  });
}

const clock = () => new Date().toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

// Changes how the sheet is shown. Rows in another order are shown from the first one on.
function setLayout(changes) {
  const isOfColumns = !("sort" in changes || "filters" in changes);
  const content = () => ({ layout: { ...state.sheet.layout, ...changes } });
  return change("/api/layout", content, { renew: !isOfColumns, keep: isOfColumns });
}

// Removes filters and shows a column that is hidden, so that what is gone to is in view; called by
// tasks of the queue, too.
async function uncover(column) {
  const { layout } = state.sheet;
  const hidden = layout.hidden.filter((one) => one !== column);
  if (hidden.length === layout.hidden.length && !Object.keys(layout.filters).length) return;
  const answer = await callSheet("/api/layout", { content: { layout: { ...layout, filters: {}, hidden } } });
  if (answer !== null) update(answer);
}

async function showAll(column, view = "all") {
  await uncover(column);
  await changeView(view);
}

function step(name) {
  return change("/api/step", () => ({ step: name }));
}

function showRemark(row, place) {
  const marks = row.marks[place] || [];
  const address = `${state.sheet.columns[place].letters}${row.row}`;
  const messages = marks.map((mark) => `${mark.message} ${mark.hint}`.trim());
  const value = messages.length ? shortened(row.cells[place]) : row.cells[place];
  byId("remark").textContent = [address, value, row.names[place], ...messages].filter(Boolean).join(" · ");
}

// A long value would push its messages out of sight.
const shortened = (text) => (text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text);

// Goes to the next error, of the file's other sheets if the one shown has none.
async function nextError() {
  if (await enqueue(goToNextError)) return;
  const other = state.sheet.parts.find((one) => one.sheet !== state.sheet.shown && one.errors + one.refused);
  if (!other) return;
  await showPart(other.sheet);
  await enqueue(goToNextError);
}

// Returns whether there is one, or nobody knows.
async function goToNextError() {
  await grid.loaded();
  const row = grid.rowAt(grid.at);
  const query = { row: row ? row.row : 0, column: state.sheet.columns[grid.column].index, view: state.view };
  if (!grid.visited) query.column = -1;
  const found = await callSheet("/api/next-error", { query });
  if (found === null || found.row === null) return found === null;
  if (!(await goTo(found))) {
    await showAll(found.column, "wrong");
    return goToNextError();
  }
  grid.input.focus({ preventScroll: true });
  return true;
}

// Goes to a found cell; returns whether it is in view, neither filtered out nor in a hidden column.
async function goTo({ position, column }) {
  const place = state.sheet.columns.findIndex((one) => one.index === column);
  if (position === null || !grid.columns.shown.includes(place)) return false;
  await grid.fetch(position);
  grid.move(position, place);
  return true;
}

// Selects the first error, of a view without errors its first mark, unless the user has chosen a cell or scrolled;
// "next error" begins there.
async function selectFirstError() {
  if (grid.visited || grid.box.scrollTop > 0) return;
  const sheet = state.sheet;
  const query = { row: 0, column: -1, view: state.view };
  const found = await callSheet("/api/next-error", { query, sheet, silent: true });
  if (found === null || grid.visited || sheet.id !== state.sheet?.id) return;
  if (found.row === null || !(await goTo(found))) await goToFirstMark();
  grid.visited = false;
}

// Shows the first row of a view at its first marked cell, or at a column if that is marked.
async function goToFirstMark(column = "") {
  await grid.loaded();
  await grid.fetch(0);
  const row = grid.rowAt(0);
  const places = row ? Object.keys(row.marks).map(Number) : [];
  if (!places.length) return;
  const named = state.sheet.columns.findIndex((one) => one.name === column);
  grid.move(0, places.includes(named) ? named : Math.min(...places));
}

// Errors and refusals come before warnings in rows above them.
export async function showWrongRows() {
  await changeView("wrong");
  await nextError();
}

async function showRule(rule) {
  await changeView(rule.key);
  await goToFirstMark(rule.column);
}

export async function changeView(name) {
  if (!["wrong", "all"].includes(name)) await uncover();
  state.view = name;
  byId("view").value = ["wrong", "all"].includes(name) ? name : "rule";
  byId("remark").textContent = "";
  byId("view").options[2].hidden = byId("view").value !== "rule";
  await grid.load({ view: name, renew: true, keep: false });
}

function ruleItem(rule) {
  const item = element("li", undefined, rule.severity);
  item.dataset.rule = rule.key;
  const count = element("span", figure(rule.count), "count");
  const place = rule.title ? `${rule.title}: ` : "";
  const one = button("", () => (rule.of_header ? showHeader(rule) : showRule(rule)), "rule");
  one.title = rule.column ?? "";
  one.append(count, `${place}${rule.message}`);
  const more = rule.count > rule.names.length ? " …" : "";
  if (rule.names.length > 1) one.append(element("span", rule.names.join(", ") + more, "quiet names"));
  item.append(one);
  const offer = (text, run, testid) => {
    const extra = button(text, run);
    if (testid) extra.dataset.testid = testid;
    item.append(extra, " ");
  };
  if (rule.fixable) offer(fill(texts.fix_all, { n: rule.fixable }), () => showFixes(rule.key), "fix-all");
  const isOfCells = !rule.of_header && (rule.column || rule.code === "refused");
  if (rule.count > 1 && isOfCells) offer(texts.replace_values, () => showValues(rule), "replace");
  if (NO_RECORDS.includes(rule.code)) {
    offer(texts.set_aside, () => change("/api/set-aside", () => ({ rule: rule.key }), { renew: true }));
  }
  if (rule.acceptable) {
    const accepted = { code: rule.code, column: rule.column };
    offer(texts.accept, () => change("/api/accept", () => accepted, { renew: true }), "accept");
  }
  const [name, readings] = READINGS[rule.code] ?? ["", []];
  for (const [value, text] of readings) offer(text, () => setConvention(name, value));
  return item;
}

// A finding of the header has no rows: shows its column and hint.
function showHeader(rule) {
  const letters = (rule.cell || "").replace(/\d+$/, "");
  const place = state.sheet.columns.findIndex((one) => one.letters === letters);
  if (place >= 0) grid.showColumn(place);
  byId("remark").textContent = [rule.cell, rule.message, rule.hint].filter(Boolean).join(" · ");
}

async function setConvention(name, value) {
  const conventions = () => ({ dates: state.sheet.dates, numbers: state.sheet.numbers, [name]: value });
  if (await change("/api/reading", conventions)) byId(name).value = value;
}

// Returns what a dialog shows of a rule's cells, null if it is no longer wanted.
async function findInRule(path, rule) {
  const sheet = state.sheet;
  const found = await newest("fixes", enqueue(() => callSheet(path, { query: { rule }, sheet })));
  return byId("mend").hidden ? null : found;
}

async function showFixes(rule) {
  const found = await findInRule("/api/fixes", rule);
  if (found) showChanges(found, () => change("/api/fix", () => ({ rule })));
}

// Shows the first cells that would change, and changes all of them when the user agrees.
function showChanges(found, run) {
  byId("fixes-title").textContent = fill(texts.fix_what, { n: found.count });
  const titles = tableLine([texts.cell, texts.before, "", texts.after], "th");
  // A value that looks the same was a number or date stored as text; spaces at the ends show between quotes.
  const visible = (text) => (text === text.trim() ? text : `“${text}”`);
  const before = (one) => (one.before === one.after ? `${one.before} (${texts.as_text})` : visible(one.before));
  const lines = found.cells.map((one) => tableLine([one.cell, before(one), "→", visible(one.after)]));
  byId("fixes-table").replaceChildren(titles, ...lines);
  byId("fixes-do").disabled = !found.count;
  ask(byId("fixes"), run);
}

// The values of a rule's cells, each with a field for what replaces it in all of them.
async function showValues(rule) {
  const found = await findInRule("/api/values", rule.key);
  if (!found) return;
  const lines = found.values.map(({ value, count }) => {
    const typed = input("text", { ariaLabel: fill(texts.replace_by, { value }) });
    const run = () => {
      byId("values").close();
      change("/api/replace", () => ({ rule: rule.key, before: value, after: typed.value }));
    };
    typed.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault(); // the key would press the button that gets the focus
      run();
    });
    return tableLine([value || texts.empty_cell, figure(count), [typed], [button(fill(texts.replace_all, { n: count }), run)]]);
  });
  byId("values-title").textContent = [rule.title, rule.message].filter(Boolean).join(": ");
  const more = found.more ? [tableLine([fill(texts.more_values, { n: found.more })])] : [];
  byId("values-table").replaceChildren(...tableRows([texts.before, texts.cells, texts.after, ""], lines), ...more);
  byId("values").showModal();
  byId("values-table").querySelector("input")?.focus();
}

export function setUpCorrect(whenSent, whenChanged) {
  dropPlan = whenChanged;
  byId("view").addEventListener("change", () => changeView(byId("view").value));
  byId("part").addEventListener("change", async () => {
    await showPart(byId("part").value);
    grid.keys.wait(selectFirstError());
  });
  byId("next-error").addEventListener("click", () => {
    grid.input.focus({ preventScroll: true });
    grid.keys.wait(nextError());
  });
  byId("undo").addEventListener("click", () => step("undo"));
  byId("redo").addEventListener("click", () => step("redo"));
  byId("to-send").addEventListener("click", goToSend);
  byId("arranged").addEventListener("click", () => setLayout({ sort: null, filters: {} }));
  setUpFind(grid, { change, goTo, showAll, showChanges });
  setUpMenus(grid, { change, layout: setLayout });
  planSheet = whenSent;
  document.addEventListener("keydown", (event) => {
    const isField = event.target.matches("textarea, input[type=text]");
    const isOpen = document.querySelector("dialog[open], [popover]:popover-open") !== null;
    if (!isField && !isOpen && !byId("mend").hidden) grid.keys.shortcut(event);
  });
  const showLatest = () => { if (!document.hidden && !byId("mend").hidden) grid.load(); };
  document.addEventListener("visibilitychange", showLatest);
  window.addEventListener("focus", showLatest); // a window beside another is never hidden
  whenShown("mend", async () => {
    grid.measure();
    await grid.load({ view: state.view, renew: true });
    grid.keys.wait(selectFirstError());
    if (isFocusLost()) grid.input.focus({ preventScroll: true });
  });
}
