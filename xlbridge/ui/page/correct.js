// Correct: the grid of the sheet, the rules beside it, corrections of a whole rule.

import { button, byId, call, element, fill, post, show, state, tableLine, texts, whenShown } from "./core.js";
import { Grid } from "./grid.js";

const NO_RECORDS = ["row-total", "row-note", "row-struck", "row-header-again"];
const grid = new Grid(byId("grid"), {
  fetchRows: (start, count, renew) =>
    call("/api/rows", { query: { start, count, view: state.view, renew: renew ? "1" : "0" } }),
  async edit(cells) {
    const first = firstColumn();
    const given = cells.map((one) => ({ row: one.row, column: first + one.place, value: one.value }));
    await changed(await post("/api/edit", given));
  },
  current: showRemark,
  nextError,
  step,
});

export function showSheet(answer) {
  state.view = answer.errors || answer.warnings ? "wrong" : "all";
  byId("view").value = state.view;
  update(answer);
  grid.load({ renew: true, keep: false });
}

function update(answer) {
  state.sheet = answer;
  const counts = fill(texts.counts, answer);
  const good = answer.sendable ? ` · ${texts.all_good}` : "";
  const edited = answer.edited ? ` · ${fill(texts.edited, { n: answer.edited })}` : "";
  byId("counts").textContent = `${counts}${edited}${good}`;
  grid.setColumns(answer.columns);
  byId("rules").replaceChildren(...answer.rules.map(ruleItem));
}

function firstColumn() {
  let number = 0;
  for (const letter of state.sheet.columns[0].letters) number = number * 26 + letter.charCodeAt(0) - 64;
  return number - 1;
}

async function changed(answer) {
  if (answer === null) return;
  update(answer);
  await grid.load();
  grid.tell();
}

async function step(name) {
  await changed(await post("/api/step", { step: name }));
}

function showRemark(row, place) {
  const marks = row.marks[place] || [];
  const address = `${state.sheet.columns[place].letters}${row.row}`;
  const told = marks.map((mark) => `${mark.message} ${mark.hint}`.trim());
  byId("remark").textContent = [address, row.cells[place], ...told].filter(Boolean).join(" · ");
}

async function nextError() {
  const row = grid.rowAt(grid.at);
  const query = { row: row ? row.row : 0, column: firstColumn() + grid.column, view: state.view };
  if (!grid.visited) query.column = -1;
  const found = await call("/api/next-error", { query });
  if (found === null || found.row === null) return;
  if (found.position === null) {
    await changeView("wrong");
    return nextError();
  }
  await grid.fetch(Math.floor(found.position / 100));
  grid.move(found.position, found.column - firstColumn());
  grid.input.focus({ preventScroll: true });
}

export async function changeView(name) {
  state.view = name;
  byId("view").value = ["wrong", "all"].includes(name) ? name : "rule";
  byId("view").options[2].hidden = byId("view").value !== "rule";
  await grid.load({ renew: true, keep: false });
}

function ruleItem(rule) {
  const item = element("li", undefined, rule.severity);
  item.dataset.rule = rule.key;
  const count = element("span", rule.count, "count");
  const place = rule.column ? `${rule.column}: ` : "";
  const one = button("", () => changeView(rule.key), "rule");
  one.append(count, `${place}${rule.message}`);
  item.append(one);
  const offer = (text, run, testid) => {
    const extra = button(text, run);
    if (testid) extra.dataset.testid = testid;
    item.append(extra, " ");
  };
  if (rule.fixable) offer(fill(texts.fix_all, { n: rule.fixable }), () => showFixes(rule.key), "fix-all");
  if (NO_RECORDS.includes(rule.code)) offer(texts.set_aside, () => setAside(rule.key));
  if (rule.code === "date-ambiguous") {
    offer(texts.dates_dmy, () => read({ dates: "dmy" }));
    offer(texts.dates_mdy, () => read({ dates: "mdy" }));
  }
  if (rule.code === "number-ambiguous") {
    offer("1.234,56", () => read({ numbers: "pt" }));
    offer("1,234.56", () => read({ numbers: "en" }));
  }
  return item;
}

async function setAside(rule) {
  await changed(await post("/api/set-aside", { rule }));
  await grid.load({ renew: true });
}

async function read(given) {
  const known = { dates: state.sheet.dates, numbers: state.sheet.numbers };
  const answer = await post("/api/reading", { ...known, ...given });
  if (answer === null) return;
  await changed(answer);
  for (const [name, value] of Object.entries(given)) byId(name).value = value;
}

async function showFixes(rule) {
  const found = await call("/api/fixes", { query: { rule } });
  if (found === null) return;
  byId("fixes-title").textContent = fill(texts.fix_what, { n: found.count });
  const titles = tableLine([texts.cell, texts.before, "", texts.after], "th");
  const lines = found.cells.map((one) => tableLine([one.cell, one.before, "→", one.after]));
  byId("fixes-table").replaceChildren(titles, ...lines);
  byId("fixes-do").onclick = async () => {
    byId("fixes").close();
    await changed(await post("/api/fix", { rule }));
  };
  byId("fixes").showModal();
}

export function setUpCorrect(send) {
  byId("grid").dataset.nothing = texts.empty_view;
  byId("view").addEventListener("change", () => changeView(byId("view").value));
  byId("next-error").addEventListener("click", nextError);
  byId("undo").addEventListener("click", () => step("undo"));
  byId("redo").addEventListener("click", () => step("redo"));
  byId("fixes-close").addEventListener("click", () => byId("fixes").close());
  byId("to-send").addEventListener("click", () => {
    show("send");
    if (state.sheet.sendable) send();
  });
  whenShown("mend", () => grid.load({ renew: true }));
}
