// Find and replace in all rows of the sheet, whatever is in view.

import { byId, callSheet, enqueue, fill, newest, option, state, texts } from "./core.js";

const PAUSE_MS = 150;
let grid = null;
let handlers = null; // change(path, findContent), goTo(found), showAll(column), showChanges(found, run)
let counting = 0; // timer of the next count

function sought() {
  const column = byId("find-column").value;
  const asked = { text: byId("find-text").value, whole: byId("find-whole").checked ? "1" : "0" };
  return column ? { ...asked, column } : asked;
}

function showCount(count) {
  byId("find-count").textContent = byId("find-text").value ? fill(texts.found_cells, { n: count }) : "";
  // Enter presses the first button, also before the count is there.
  for (const name of ["find-one", "find-all"]) byId(name).disabled = !count;
  // A disabled button loses the focus.
  if (document.activeElement.disabled || document.activeElement === document.body) byId("find-text").focus();
}

const ask = (row, at) => callSheet("/api/find", { query: { ...sought(), row, at, view: state.view } });

async function count() {
  const found = await newest("find", ask(0, 0));
  if (found !== null) showCount(found.count);
}

function countSoon() {
  clearTimeout(counting);
  counting = setTimeout(count, PAUSE_MS);
}

// Goes to the next cell after the current one. The focus stays, so that Enter goes on.
async function goToNext() {
  await grid.loaded();
  const current = state.sheet.columns[grid.column].index;
  const found = await ask(grid.rowAt(grid.at)?.row ?? 0, current);
  if (found === null) return;
  showCount(found.count);
  if (found.row === null) return;
  if (await handlers.goTo(found)) return;
  await handlers.showAll(found.column);
  await goToNext();
}

const next = () => enqueue(goToNext);

const replacing = () => ({ ...sought(), by: byId("find-by").value });

function replaceOne() {
  const row = grid.rowAt(grid.at);
  if (!row) return;
  const only = [row.row, state.sheet.columns[grid.column].index];
  const asked = { ...replacing(), only };
  handlers.change("/api/find-replace", () => asked);
  next();
}

async function replaceAll() {
  const asked = replacing();
  const found = await enqueue(() => callSheet("/api/replacements", { query: asked }));
  if (found === null) return;
  handlers.showChanges(found, async () => {
    await handlers.change("/api/find-replace", () => asked);
    count();
  });
}

export function openFind() {
  const columns = state.sheet.columns.map((one) => option(one.index, `${one.letters} · ${one.title ?? one.header}`));
  const before = byId("find-column").value;
  byId("find-column").replaceChildren(option("", texts.find_everywhere), ...columns);
  byId("find-column").value = state.sheet.columns.some((one) => `${one.index}` === before) ? before : "";
  byId("find").hidden = false;
  byId("find-text").focus();
  byId("find-text").select();
  count();
}

function close() {
  byId("find").hidden = true;
  grid.input.focus({ preventScroll: true });
}

export function setUpFind(ownGrid, ownHandlers) {
  grid = ownGrid;
  handlers = ownHandlers;
  byId("find-open").addEventListener("click", openFind);
  byId("find-close").addEventListener("click", close);
  byId("find-one").addEventListener("click", replaceOne);
  byId("find-all").addEventListener("click", replaceAll);
  byId("find-text").addEventListener("input", countSoon);
  for (const name of ["find-column", "find-whole"]) byId(name).addEventListener("change", count);
  byId("find").addEventListener("submit", (event) => {
    event.preventDefault();
    next();
  });
  byId("find").addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
}
