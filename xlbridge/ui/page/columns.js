// Columns of the grid as the sheet's layout shows them: which, how wide, and which stay in view.

import { breakable, cell } from "./cells.js";
import { element } from "./core.js";

const NUMBER_WIDTH = 76;
const WIDTH = 150;
const NARROWEST = 40;
const WIDEST = 600;
const CHARACTER = 7.5; // pixels
const FROZEN_SHARE = 0.65; // of the grid: more would leave no room for other columns, and a telephone has one

export class Columns {
  constructor(root, handlers) {
    this.root = root;
    this.handlers = handlers; // layout(changes), columnMenu(place, header), resized(), width()
    this.set([], { hidden: [], widths: {}, frozen: 0, filters: {}, sort: null });
  }

  set(all, layout) {
    this.all = all;
    this.layout = layout;
    this.widths = { ...layout.widths };
    this.shown = [...all.keys()].filter((place) => !layout.hidden.includes(all[place].index));
    this.measure();
  }

  measure() {
    this.lefts = new Map();
    this.right = NUMBER_WIDTH;
    this.frozenRight = NUMBER_WIDTH;
    for (const place of this.shown) {
      this.lefts.set(place, this.right);
      this.right += this.width(place);
      if (place < this.layout.frozen) this.frozenRight = this.right;
    }
  }

  width(place) {
    return this.widths[this.all[place].index] ?? WIDTH;
  }

  left(place) {
    return this.lefts.get(place) ?? NUMBER_WIDTH;
  }

  isFrozen(place) {
    return place < this.layout.frozen && this.frozenRight <= this.handlers.width() * FROZEN_SHARE;
  }

  // Right edge of the columns that stay in view.
  get edge() {
    return this.shown.length && this.isFrozen(this.shown[0]) ? this.frozenRight : NUMBER_WIDTH;
  }

  // The shown column some columns further than another one.
  beside(place, by) {
    const at = this.shown.findLastIndex((one) => one <= place) + by;
    return this.shown[Math.min(Math.max(at, 0), this.shown.length - 1)];
  }

  // Gives a cell the place of its column.
  put(one, place) {
    const width = this.width(place);
    if (width !== WIDTH) one.style.width = `${width}px`;
    if (!this.isFrozen(place)) return;
    one.classList.add("frozen");
    one.style.left = `${this.left(place)}px`;
  }

  heads() {
    const { row, unused } = this.root.dataset;
    return [cell("number", row, "columnheader"), ...this.shown.map((place) => this.headOf(place, unused))];
  }

  headOf(place, unused) {
    const column = this.all[place];
    const one = cell(column.numeric ? "amount" : "", "", "columnheader");
    // A header in the interface's name is shown by its title, one of the user's own as it is.
    const title = element("span");
    title.append(...breakable(`${column.letters} · ${column.header === column.name ? column.title : column.header}`));
    const meaning = column.name ? `${column.title} (${column.name})` : unused;
    one.title = `${column.letters} · ${column.header} → ${meaning}`;
    one.classList.toggle("unused", !column.name);
    const { sort, filters } = this.layout;
    if (sort?.column === column.index) {
      one.setAttribute("aria-sort", sort.descending ? "descending" : "ascending");
      title.append(sort.descending ? " ▼" : " ▲");
    }
    if (filters[column.index]) one.classList.add("filtered");
    const handle = element("span", undefined, "resize");
    one.append(title, handle);
    one.addEventListener("click", (event) => {
      if (event.target !== handle) this.handlers.columnMenu(place, one);
    });
    one.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      this.handlers.columnMenu(place, one);
    });
    handle.addEventListener("pointerdown", (event) => this.resize(event, place));
    handle.addEventListener("dblclick", () => this.fit(place));
    this.put(one, place);
    return one;
  }

  // Follows the pressed pointer; the width is stored when it is released.
  resize(event, place) {
    event.preventDefault();
    const before = this.width(place);
    const follow = (moved) => this.setWidth(place, before + moved.clientX - event.clientX);
    const end = () => {
      document.removeEventListener("pointermove", follow);
      if (this.width(place) !== before) this.handlers.layout({ widths: this.widths });
    };
    document.addEventListener("pointermove", follow);
    document.addEventListener("pointerup", end, { once: true });
    document.addEventListener("pointercancel", end, { once: true });
  }

  setWidth(place, width) {
    this.widths[this.all[place].index] = Math.round(Math.min(Math.max(width, NARROWEST), WIDEST));
    this.measure();
    this.handlers.resized();
  }

  // Makes a column as wide as its longest text in view.
  fit(place) {
    const texts = this.root.querySelectorAll(`.lines [data-place="${place}"]`);
    const longest = Math.max(5, ...Array.from(texts, (one) => one.textContent.length));
    this.setWidth(place, longest * CHARACTER + 14);
    this.handlers.layout({ widths: this.widths });
  }
}
