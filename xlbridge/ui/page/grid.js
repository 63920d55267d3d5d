// Grid of a sheet: only visible rows are in the document, fetched in windows.
// Typing goes into a transparent text area over the current cell, so that dead keys work.

import { HEAD_HEIGHT, ROW_HEIGHT, cell, worst } from "./cells.js";
import { Choices } from "./choices.js";
import { clipboardText, parseClipboard } from "./clipboard.js";
import { Columns } from "./columns.js";
import { element, showEach } from "./core.js";
import { Keys } from "./keys.js";
import { RowWindows } from "./row_windows.js";

const TALLEST = 8_000_000; // pixels; browsers round or cut off taller elements
const MAX_SELECTED = 5_000; // rows copied or erased at once
const SHORT = 18; // characters that fit into a cell
const OPENER = 22; // pixels of the button that opens a calendar or list
const TALLEST_TEXT = 8 * ROW_HEIGHT;
const PAUSE = 150; // milliseconds without a key after which names are looked up
const PULL = 50; // milliseconds for each cell past an edge

export class Grid {
  // handlers: rowsOf(view), edit(findCells), isIdle(), current(row, cell), nextError(), step(name),
  // edge(row, column, down), layout(changes), columnMenu(place, header), cellMenu(event), find(),
  // fill(), lookUp(column, text), showTotal(total), outside(), tooLong()
  constructor(root, handlers) {
    this.root = root;
    this.handlers = handlers;
    this.columns = new Columns(root, { ...handlers, resized: () => this.drawAll(), width: () => this.box.clientWidth });
    this.view = "";
    this.windows = null; // rows shown
    this.loading = null; // rows that replace them once loaded
    this.pending = null; // promise of the newest load
    this.typed = null; // position and rows of the cell being typed into
    this.at = 0; // position in the view of the current cell, where a selection was begun
    this.column = 0; // index in the row
    this.visited = false; // whether the current cell was chosen
    this.corner = null; // opposite corner of the selection
    this.isDragging = false; // whether the mouse was pressed on a cell
    this.sameColumns = ""; // columns and layout that are drawn
    this.pulling = null; // timer that extends the selection past an edge
    this.isQuick = false; // whether arrows end the typing
    this.keys = new Keys(this);
    const [cells, place] = root.children; // screen readers see the cells without the text area
    const [input, list, opener, day] = place.children;
    [this.head, this.lines, this.space] = cells.children;
    Object.assign(this, { cells, place, input, opener, day });
    this.choices = new Choices(list, input, (value) => {
      this.input.value = value;
      this.commit();
    });
    this.opener.addEventListener("mousedown", (event) => event.preventDefault()); // the text area keeps the focus
    this.opener.addEventListener("click", () => this.open());
    this.day.addEventListener("change", () => this.takeDay());
    root.addEventListener("scroll", () => {
      this.measure();
      this.draw();
    });
    root.addEventListener("mousedown", (event) => this.press(event));
    root.addEventListener("contextmenu", (event) => {
      const one = event.target.closest("[data-at]");
      if (one === null) return;
      event.preventDefault();
      if (!one.classList.contains("range")) this.pointAt(event, false);
      this.handlers.cellMenu(event);
    });
    for (const name of ["mousemove", "mouseup"]) document.addEventListener(name, (event) => this.drag(event));
    this.input.addEventListener("keydown", (event) => this.keys.handle(event));
    this.input.addEventListener("input", () => {
      this.type();
      this.fit();
      this.offer();
    });
    this.input.addEventListener("compositionstart", () => this.type());
    this.input.addEventListener("paste", (event) => this.paste(event));
    this.input.addEventListener("copy", (event) => this.copy(event));
    this.input.addEventListener("cut", (event) => this.cut(event));
    this.input.addEventListener("blur", () => this.commit());
    new ResizeObserver(() => this.drawAll()).observe(root);
    this.measure();
  }

  // Reads the size and scroll position. The browser lays the page out for that, so they are read when they may have
  // changed, not each time they are needed.
  measure() {
    const { scrollTop, scrollLeft, clientHeight, clientWidth } = this.root;
    this.box = { scrollTop, scrollLeft, clientHeight, clientWidth };
  }

  scroll(position) {
    Object.assign(this.root, position);
    this.measure();
  }

  setColumns(columns, layout) {
    const same = JSON.stringify([columns, layout]);
    if (same === this.sameColumns) return;
    this.sameColumns = same;
    this.columns.set(columns, layout);
    this.cells.setAttribute("aria-colcount", columns.length + 1);
    this.drawAll();
  }

  // Draws the rows and the header again.
  drawAll() {
    this.measure();
    this.lines.replaceChildren();
    this.head.replaceChildren(...this.columns.heads());
    this.space.style.width = `${this.columns.right}px`;
    this.draw();
  }

  // Scrolls to a column.
  showColumn(place) {
    this.scroll({ scrollLeft: this.columns.left(place) - this.columns.edge });
  }

  // Removes all rows, and forgets the current cell, before another sheet is shown.
  clear() {
    this.cancel();
    [this.at, this.column, this.corner, this.visited] = [0, 0, null, false];
    this.scroll({ scrollTop: 0, scrollLeft: 0 });
    this.windows = null;
    this.loading = null;
    this.draw();
  }

  // Fetches the rows again; those shown remain editable until the new ones are loaded.
  load(options) {
    this.pending = this.loadRows(options);
    return this.pending;
  }

  // Waits until the rows last asked for are shown.
  async loaded() {
    for (let awaited = null; awaited !== this.pending; ) {
      awaited = this.pending;
      await awaited;
    }
  }

  // What of the rows an answer to an edit should have.
  get shownRows() {
    const first = this.firstVisible();
    return { view: this.view, ...RowWindows.around(first, first + this.visible()) };
  }

  async loadRows({ view = this.view, renew = false, keep = true, known = null } = {}) {
    const { sort, filters } = this.columns.layout;
    const isGrowing = view === "all" && !sort && !Object.keys(filters).length;
    const windows = new RowWindows(this.handlers.rowsOf(view), isGrowing);
    this.view = view;
    this.loading = windows;
    if (known) windows.take(known);
    const first = keep ? this.firstVisible() : 0;
    const isThere = await windows.fetch(first, first + this.visible(), renew);
    if (!isThere || this.loading !== windows) return;
    const before = this.total;
    this.windows = windows;
    if (!keep) {
      this.scroll({ scrollTop: 0 });
      this.at = 0;
      this.visited = false;
    }
    this.at = Math.min(this.at, Math.max(this.total - 1, 0));
    this.cells.setAttribute("aria-rowcount", this.total + 1);
    this.space.style.height = `${Math.min(this.height, TALLEST)}px`;
    if (this.total !== before) this.measure();
    this.handlers.showTotal(this.total);
    this.draw();
  }

  async fetch(first, last = first) {
    const windows = this.windows;
    const wasThere = this.rowAt(this.at);
    if (!windows || !(await windows.fetch(first, last)) || this.windows !== windows) return;
    this.draw();
    if (!wasThere) this.notifyCurrent();
  }

  get isTyping() {
    return this.input.classList.contains("typing");
  }

  get total() {
    return this.windows ? this.windows.total : 0;
  }

  visible() {
    return Math.ceil(this.box.clientHeight / ROW_HEIGHT) + 2;
  }

  get height() {
    return this.total * ROW_HEIGHT + 40;
  }

  // Pixels of rows per pixel of the scroll bar: more than one in a very tall sheet.
  get pace() {
    const below = HEAD_HEIGHT - this.box.clientHeight;
    return this.height > TALLEST ? (this.height + below) / (TALLEST + below) : 1;
  }

  // Pixels of rows above the visible ones.
  get above() {
    return this.box.scrollTop * this.pace;
  }

  topOf(at) {
    return `${HEAD_HEIGHT + at * ROW_HEIGHT - this.above + this.box.scrollTop}px`;
  }

  firstVisible() {
    return Math.max(0, Math.floor(this.above / ROW_HEIGHT));
  }

  rowAt(at) {
    return this.windows ? this.windows.rowAt(at) : undefined;
  }

  textAt(at, column) {
    const row = this.rowAt(at);
    return row ? row.cells[column] : "";
  }

  draw() {
    const first = this.firstVisible();
    const last = Math.min(this.total, first + this.visible());
    const drawn = [];
    const missing = [];
    for (let at = first; at < last; at += 1) {
      const row = this.rowAt(at);
      if (row === undefined) missing.push(at);
      else drawn.push([at, row, at === this.at ? this.column : null, this.columns.shown.filter((place) => this.isSelected(at, place))]);
    }
    if (this.windows && this.total === 0) this.lines.replaceChildren(element("p", this.root.dataset.nothing, "nothing"));
    else showEach(this.lines, drawn, (one) => this.line(...one));
    for (const [n, [at]] of drawn.entries()) this.lines.children[n].style.top = this.topOf(at);
    this.placeInput();
    if (missing.length) this.fetch(missing[0], missing.at(-1));
  }

  // The line of a row at a position, with the column of the current cell and the selected ones there.
  line(at, row, here, range) {
    const line = element("div", undefined, "line");
    line.setAttribute("role", "row");
    if (row.aside) line.classList.add("aside");
    line.setAttribute("aria-rowindex", at + 2);
    const number = cell("number", row.row, "rowheader");
    number.dataset.at = at;
    line.append(number);
    for (const place of this.columns.shown) {
      const column = this.columns.all[place];
      const marks = row.marks[place] || [];
      const classes = column.numeric ? ["amount"] : [];
      if (marks.length) classes.push(worst(marks));
      if (row.edited.includes(place)) classes.push("edited");
      if (range.includes(place)) classes.push("range");
      if (place === here) classes.push("here");
      const one = cell(classes.join(" "), row.cells[place], "gridcell");
      if (place === here) one.id = "cell-here";
      one.dataset.at = at;
      one.dataset.place = place;
      one.dataset.cell = `${column.letters}${row.row}`;
      if (marks.length) {
        one.setAttribute("aria-invalid", ["warning", "planned"].includes(worst(marks)) ? "false" : "true");
        one.title = marks.map((mark) => mark.message).join("\n");
      }
      if (row.names[place]) one.dataset.name = row.names[place];
      this.columns.put(one, place);
      line.append(one);
    }
    return line;
  }

  isSelected(at, place) {
    if (this.corner === null) return false;
    const { first, last, left, right } = this.selection();
    return at >= first && at <= last && place >= left && place <= right;
  }

  // Rows and columns of the selected cells, or of the current one.
  selection() {
    const { at, column } = this.end;
    const [first, last] = [at, this.at].sort((a, b) => a - b);
    const [left, right] = [column, this.column].sort((a, b) => a - b);
    return { first, last, left, right };
  }

  // Cell where the selection ends, which is moved to extend it.
  get end() {
    return this.corner || { at: this.at, column: this.column };
  }

  placeInput() {
    const { column, columns, box } = this;
    if (!columns.all[column]) return;
    const [width, isFrozen] = [columns.width(column), columns.isFrozen(column)];
    const left = columns.left(column) + (isFrozen ? box.scrollLeft : 0);
    const isInView = isFrozen || left + width - box.scrollLeft > columns.edge + OPENER;
    const { allowed, has_names: hasNames, is_date: isDate } = columns.all[column];
    this.opener.hidden = !this.total || !isInView || !(allowed.length || hasNames || isDate);
    Object.assign(this.place.style, { top: this.topOf(this.at), left: `${left}px`, width: `${width}px` });
  }

  // Offers the values of a column with a closed list, or the records of one with codes or names.
  async offer() {
    const { at, column: place } = this;
    const column = this.columns.all[place];
    if (column?.allowed.length) this.choices.offerValues(column.allowed);
    if (!column?.has_names) return;
    const { value } = this.input;
    await new Promise((resume) => setTimeout(resume, PAUSE));
    if (!this.isTyping || this.input.value !== value) return;
    const records = await this.handlers.lookUp(column, this.input.value);
    if (records && this.isTyping && this.at === at && this.column === place) this.choices.offer(records);
  }

  // Opens what the current column offers: days of a calendar, or values.
  open() {
    const text = this.textAt(this.at, this.column);
    if (!this.columns.all[this.column].is_date) {
      this.begin(text);
      return;
    }
    this.day.value = /^(\d{2})\/(\d{2})\/(\d{4})$/.test(text) ? text.split("/").reverse().join("-") : "";
    this.day.showPicker();
  }

  takeDay() {
    if (this.day.value) this.change([{ at: this.at, column: this.column, value: this.day.value }]);
    this.input.focus({ preventScroll: true });
  }

  // Goes to the cell under the mouse, or selects the row of the number there; returns whether there
  // is one.
  pointAt(event, extend) {
    const one = event.target.closest("[data-at]");
    if (one === null) return false;
    event.preventDefault();
    this.commit();
    const { at, place } = one.dataset;
    if (place === undefined && extend) this.move(Number(at), Infinity, true);
    else if (place === undefined) this.selectRow(Number(at));
    else this.move(Number(at), Number(place), extend);
    this.input.focus({ preventScroll: true });
    return true;
  }

  // Begins a selection, or edits a cell: each press draws the cells again, so that no "dblclick" arrives.
  press(event) {
    if (event.button !== 0) return;
    this.isDragging = this.pointAt(event, event.shiftKey);
    if (event.detail === 2 && event.target.dataset.place) this.begin(this.textAt(this.at, this.column));
  }

  // Extends the selection to the cell under the pressed mouse, once for each cell; past an edge, on and on.
  drag(event) {
    clearInterval(this.pulling);
    this.isDragging = this.isDragging && event.buttons === 1;
    if (!this.isDragging) return;
    const box = this.root.getBoundingClientRect();
    const past = (at, first, last) => (at > last) - (at < first);
    const down = past(event.clientY, box.top + HEAD_HEIGHT, box.bottom);
    const right = past(event.clientX, box.left, box.right);
    if (down || right) {
      this.pulling = setInterval(() => this.move(this.end.at + down, this.columns.beside(this.end.column, right), true), PULL);
      return;
    }
    const over = event.target.closest("[data-at]");
    const place = over?.dataset.place ?? this.end.column;
    const isNew = over && (Number(over.dataset.at) !== this.end.at || Number(place) !== this.end.column);
    if (isNew) this.pointAt(event, true);
  }

  selectRow(at) {
    this.move(at, 0);
    this.move(at, Infinity, true);
    this.showColumn(this.column);
  }

  selectAll() {
    if (this.total === 0) return;
    [this.at, this.column] = [0, this.columns.shown[0]];
    this.select(this.total - 1, Infinity);
    this.draw();
    this.notifyCurrent();
  }

  // Selects the cells from the current one to another corner within the rows shown.
  select(at, column) {
    this.corner = { at: Math.min(at, this.total - 1), column: Math.min(column, this.columns.shown.at(-1)) };
  }

  // Goes to a cell, or extends the selection to it.
  move(at, column, extend = false) {
    if (this.total === 0) return;
    this.visited = true;
    this.keys.tabbed = null;
    const row = Math.min(Math.max(at, 0), this.total - 1);
    const place = this.columns.beside(Math.max(column, this.columns.shown[0]), 0);
    if (extend) this.select(row, place);
    else [this.at, this.column, this.corner] = [row, place, null];
    if (this.isTyping && this.typed.isEarly) this.placeTyping(true);
    this.scrollTo(row, place);
    this.draw();
    this.notifyCurrent();
  }

  scrollTo(at, column) {
    const top = at * ROW_HEIGHT;
    const inner = this.box.clientHeight - HEAD_HEIGHT - ROW_HEIGHT;
    if (top < this.above) this.scroll({ scrollTop: top / this.pace });
    if (top > this.above + inner) this.scroll({ scrollTop: (top - inner) / this.pace });
    if (this.columns.isFrozen(column)) return;
    const left = this.columns.left(column) - this.columns.edge;
    const wide = this.box.clientWidth - this.columns.edge - this.columns.width(column);
    if (left < this.box.scrollLeft) this.scroll({ scrollLeft: left });
    if (left > this.box.scrollLeft + wide) this.scroll({ scrollLeft: left - Math.max(wide, 0) });
  }

  notifyCurrent() {
    const row = this.rowAt(this.at);
    if (row) this.handlers.current(row, this.column);
  }

  type() {
    if (this.isTyping) return;
    this.isQuick = true;
    this.placeTyping(this.keys.jumping !== null);
    this.input.classList.add("typing");
  }

  // What is typed is for the current cell; during a jump, for the one to which it goes.
  placeTyping(isEarly) {
    this.typed = { windows: this.windows, at: this.at, column: this.column, isEarly };
  }

  begin(text) {
    this.type();
    this.isQuick = false;
    this.input.value = text;
    this.fit();
    this.offer();
    this.input.focus({ preventScroll: true });
    this.input.select();
  }

  // Enlarges the text area for a long text or several lines.
  fit() {
    const isLong = this.input.value.length > SHORT || this.input.value.includes("\n");
    this.input.classList.toggle("long", isLong);
    this.input.style.height = "";
    if (isLong) this.input.style.height = `${Math.min(this.input.scrollHeight, TALLEST_TEXT)}px`;
  }

  cancel() {
    this.choices.hide();
    this.input.value = "";
    this.input.classList.remove("typing");
    this.fit();
  }

  commit() {
    if (!this.isTyping) return;
    const { windows, at, column } = this.typed;
    const value = this.input.value;
    this.cancel();
    const row = windows ? windows.rowAt(at) : undefined;
    // Typing an ambiguous date again resolves it, so a cell with marks counts as changed.
    const isSame = row && row.cells[column] === value && !row.marks[column] && this.handlers.isIdle();
    if (!isSame) this.change([{ at, column, value }], windows);
  }

  erase({ first, last, left, right } = this.selection(), windows = this.windows) {
    if (this.isTooLong(first, last)) return;
    const cells = [];
    for (let at = first; at <= last; at += 1) {
      for (let column = left; column <= right; column += 1) cells.push({ at, column, value: "" });
    }
    this.change(cells, windows);
  }

  // Changes cells of the rows that were shown when the values were typed, whatever is shown now.
  // Changes nothing if a value does not fit into the sheet or the view.
  change(cells, windows = this.windows) {
    if (!windows || !windows.total || !cells.length) return;
    const fits = (one) => this.columns.all[one.column] && (windows.growing || one.at < windows.total);
    const inside = cells.filter(fits);
    if (cells.some((one) => one.value !== "" && !fits(one))) {
      this.handlers.outside();
      return;
    }
    if (!inside.length) return;
    this.handlers.edit(async () => {
      const last = windows.total - 1;
      if (!(await windows.fetch(Math.min(inside[0].at, last), Math.min(inside.at(-1).at, last)))) return null;
      return inside.map((one) => ({ ...one, row: windows.numberAt(one.at) }));
    });
  }

  async paste(event) {
    if (this.isTyping) return;
    event.preventDefault();
    const block = parseClipboard(event.clipboardData.getData("text/plain"));
    if (this.keys.jumping) await this.keys.jumping;
    const { first, last, left, right } = this.selection();
    const [rows, columns] = [last - first + 1, right - left + 1];
    const [high, wide] = [block.length, Math.max(...block.map((line) => line.length))];
    // A block that fits several times, such as one value, fills the selection.
    const isFilling = rows % high === 0 && columns % wide === 0;
    const [height, width] = isFilling ? [rows, columns] : [high, wide];
    if (height > high && this.isTooLong(first, last)) return;
    const cells = [];
    for (let down = 0; down < height; down += 1) {
      const line = block[down % high];
      for (let place = 0; place < width; place += 1) {
        const value = line[place % wide];
        if (value !== undefined) cells.push({ at: first + down, column: left + place, value });
      }
    }
    this.change(cells);
    [this.at, this.column] = [first, left];
    this.select(first + height - 1, left + width - 1);
    this.scrollTo(first, left);
    this.draw();
    this.notifyCurrent();
  }

  isTooLong(first, last) {
    if (last - first < MAX_SELECTED) return false;
    this.handlers.tooLong();
    return true;
  }

  // Copies the selected cells, after fetching missing rows; returns what was copied, null if nothing
  // was. What is selected and shown when the rows arrive does not matter.
  async copy(event) {
    if (this.isTyping || !this.total) return null;
    event.preventDefault();
    const isJumping = this.keys.jumping !== null;
    if (isJumping) await this.keys.jumping;
    const { windows } = this;
    const selection = this.selection();
    const { first, last, left, right } = selection;
    if (this.isTooLong(first, last)) return null;
    const rows = () => Array.from({ length: last - first + 1 }, (_, at) => windows.rowAt(first + at));
    const text = () => clipboardText(rows().map((row) => row.cells.slice(left, right + 1)));
    if (!isJumping && !rows().includes(undefined)) event.clipboardData.setData("text/plain", text());
    else if (!(await windows.fetch(first, last))) return null;
    else await navigator.clipboard.writeText(text());
    return { selection, windows };
  }

  async cut(event) {
    const copied = await this.copy(event);
    if (copied) this.erase(copied.selection, copied.windows);
  }

  // The numbers of the first and last selected row, fetched if they are not there; null on failure.
  async selectedRows({ first, last } = this.selection(), windows = this.windows) {
    if (!windows?.total || !(await windows.fetch(first)) || !(await windows.fetch(last))) return null;
    return { first: windows.numberAt(first), last: windows.numberAt(last) };
  }
}
