// Menus of the grid: of a column (order, filter, width, what is in view) and of cells (filling, rows).

import { byId, callSheet, element, figure, fill, input, newest, state, texts } from "./core.js";

const MARGIN = 8; // pixels to the edge of the window
let grid = null;
let handlers = null; // change(path, findContent, options), layout(changes)
let place = 0; // column of the menu

// Opens a menu at a point. A pressed button that is released would close it again.
function openAt(menu, x, y, pressed = false) {
  if (pressed) {
    document.addEventListener("pointerup", () => setTimeout(() => openAt(menu, x, y)), { once: true });
    return;
  }
  menu.showPopover();
  menu.style.left = `${Math.max(MARGIN, Math.min(x, innerWidth - menu.offsetWidth - MARGIN))}px`;
  menu.style.top = `${Math.max(MARGIN, Math.min(y, innerHeight - menu.offsetHeight - MARGIN))}px`;
}

function openBelow(menu, one) {
  const { left, bottom } = one.getBoundingClientRect();
  openAt(menu, left, bottom);
}

const column = () => state.sheet.columns[place];

export function openColumnMenu(ofPlace, anchor) {
  place = ofPlace;
  const { layout } = state.sheet;
  const isSorted = (descending) => layout.sort?.column === column().index && layout.sort.descending === descending;
  byId("column-title").textContent = `${column().letters} · ${column().title ?? column().header}`;
  byId("sort-up").setAttribute("aria-pressed", isSorted(false));
  byId("sort-down").setAttribute("aria-pressed", isSorted(true));
  byId("filter-text").value = layout.filters[column().index]?.contains ?? "";
  byId("filter-clear").disabled = !layout.filters[column().index];
  byId("column-hide").disabled = grid.columns.shown.length < 2;
  byId("column-freeze").textContent = layout.frozen === place + 1 ? texts.unfreeze : texts.freeze;
  byId("columns-show").hidden = !layout.hidden.length;
  byId("columns-show").textContent = fill(texts.show_hidden, { n: layout.hidden.length });
  byId("filter-values").replaceChildren();
  openBelow(byId("column-menu"), anchor);
  listValues();
}

// Lists the values of the column that contain the text of the filter.
async function listValues() {
  const { index } = column();
  const query = { column: index, contains: byId("filter-text").value };
  const found = await newest("column-values", callSheet("/api/column-values", { query }));
  if (found === null) return;
  const kept = state.sheet.layout.filters[index]?.values;
  const boxes = found.values.map(({ value, count }) => {
    const box = input("checkbox", { value, checked: !kept || kept.includes(value) });
    const line = element("label");
    line.append(box, ` ${value || texts.empty_cell} `, element("span", figure(count), "quiet"));
    return line;
  });
  const more = found.more ? [element("p", fill(texts.more_values, { n: found.more }), "quiet")] : [];
  byId("filter-values").replaceChildren(...boxes, ...more);
}

const boxes = () => [...byId("filter-values").querySelectorAll("input")];

function applyFilter() {
  const contains = byId("filter-text").value.trim();
  const values = boxes().filter((one) => one.checked).map((one) => one.value);
  const isAll = values.length === boxes().length;
  setFilter(isAll ? contains && { contains } : { values });
}

function setFilter(kept) {
  const { [column().index]: _, ...filters } = state.sheet.layout.filters;
  if (kept) filters[column().index] = kept;
  choose({ filters });
}

// Changes the layout, and closes the menu.
function choose(changes) {
  byId("column-menu").hidePopover();
  handlers.layout(changes);
  grid.input.focus({ preventScroll: true });
}

function sort(descending) {
  const { sort: before } = state.sheet.layout;
  const isSame = before?.column === column().index && before.descending === descending;
  choose({ sort: isSame ? null : { column: column().index, descending } });
}

// The selected rows and columns, as the server names them. One row alone is filled from the one above.
async function selectedBlock(withRowAbove = false) {
  const selection = grid.selection();
  const { view, windows } = grid;
  const isOne = selection.first === selection.last;
  const first = withRowAbove && isOne ? selection.first - 1 : selection.first;
  if (first < 0) return null;
  const rows = await grid.selectedRows({ first, last: selection.last }, windows);
  const [left, right] = [selection.left, selection.right].map((one) => state.sheet.columns[one].index);
  return rows && { view, ...rows, left, right };
}

export function fillDown(series = false) {
  handlers.change("/api/fill", async () => {
    const block = await selectedBlock(true);
    return block && { ...block, series };
  });
}

async function insertRows(isBelow) {
  const { first, last } = grid.selection();
  const isNewRow = grid.windows?.growing && first === grid.total - 1;
  if (!grid.windows || isNewRow) return;
  const done = await handlers.change("/api/insert-rows", async () => {
    if (!isBelow && first === 0) return { above: null, count: last + 1 };
    const rows = await grid.selectedRows({ first: isBelow ? last : first - 1, last });
    return rows && { above: rows.first, count: last - first + 1 };
  });
  if (done) grid.move(isBelow ? last + 1 : first, grid.columns.shown[0]);
}

// Runs an action of the menu of cells, and returns to the grid.
function act(name, run) {
  byId(name).addEventListener("click", () => {
    byId("cell-menu").hidePopover();
    run();
    grid.input.focus({ preventScroll: true });
  });
}

export const openCellMenu = (event) => openAt(byId("cell-menu"), event.clientX, event.clientY, event.buttons > 0);

export function setUpMenus(ownGrid, ownHandlers) {
  grid = ownGrid;
  handlers = ownHandlers;
  byId("sort-up").addEventListener("click", () => sort(false));
  byId("sort-down").addEventListener("click", () => sort(true));
  byId("filter-text").addEventListener("input", listValues);
  byId("filter").addEventListener("submit", (event) => {
    event.preventDefault();
    applyFilter();
  });
  byId("filter-all").addEventListener("click", () => {
    const isAny = boxes().some((one) => !one.checked);
    for (const one of boxes()) one.checked = isAny;
  });
  byId("filter-clear").addEventListener("click", () => setFilter(null));
  byId("column-hide").addEventListener("click", () => choose({ hidden: [...state.sheet.layout.hidden, column().index] }));
  byId("columns-show").addEventListener("click", () => choose({ hidden: [] }));
  byId("column-freeze").addEventListener("click", () => {
    choose({ frozen: state.sheet.layout.frozen === place + 1 ? 0 : place + 1 });
  });
  byId("column-fit").addEventListener("click", () => {
    byId("column-menu").hidePopover();
    grid.columns.fit(place);
  });
  act("fill-down", () => fillDown());
  act("fill-series", () => fillDown(true));
  act("insert-above", () => insertRows(false));
  act("insert-below", () => insertRows(true));
  act("delete-rows", () => handlers.change("/api/delete-rows", () => selectedBlock()));
  byId("cell-open").addEventListener("click", () => openBelow(byId("cell-menu"), byId("cell-open")));
  byId("column-open").addEventListener("click", () => openColumnMenu(grid.column, byId("column-open")));
}
