// Keys of the grid, as those of a spreadsheet.

import { HEAD_HEIGHT, ROW_HEIGHT } from "./cells.js";

// Rows and columns by which keys move.
const MOVES = {
  ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
  PageUp: [0, 0], PageDown: [0, 0], Home: [0, -Infinity], End: [0, Infinity],
};
const isControl = (event) => event.ctrlKey || event.metaKey;

export class Keys {
  constructor(grid) {
    this.grid = grid;
    this.tabbed = null; // column where a run of Tab began, to which Enter returns
    this.isLeaving = false; // whether the next Tab leaves the grid
    this.jumping = null; // promise of a move to a cell that the server knows
  }

  handle(event) {
    const { grid } = this;
    if (event.isComposing || this.grid.choices.key(event)) return;
    const isText = event.key.length === 1 && !isControl(event);
    if (this.jumping && (isText || event.key in MOVES || event.key === "Enter")) {
      event.preventDefault();
      this.jumping.then(() => this.handle(event));
      return;
    }
    if (isText && event.defaultPrevented) {
      grid.type();
      grid.input.value += event.key; // pressed during a jump
      return;
    }
    const typing = grid.isTyping;
    const isLeaving = this.isLeaving;
    if (event.key !== "Shift") this.isLeaving = event.key === "Escape" && !typing;
    if (typing && event.key === "Enter" && event.altKey) {
      event.preventDefault();
      grid.input.setRangeText("\n", grid.input.selectionStart, grid.input.selectionEnd, "end");
      grid.fit();
    } else if (event.key === "Enter") {
      event.preventDefault();
      grid.commit();
      grid.move(grid.at + (event.shiftKey ? -1 : 1), this.tabbed ?? grid.column);
    } else if (event.key === "Tab") {
      if (isLeaving) return;
      event.preventDefault();
      grid.commit();
      const from = this.tabbed ?? grid.column;
      grid.move(grid.at, grid.columns.beside(grid.column, event.shiftKey ? -1 : 1));
      this.tabbed = from;
    } else if (event.key === "Escape") {
      grid.cancel();
    } else if (event.key === "ArrowDown" && event.altKey) {
      event.preventDefault();
      grid.open();
    } else if (event.key === "F2") {
      grid.begin(grid.textAt(grid.at, grid.column));
    } else if (typing && grid.isQuick && event.key.startsWith("Arrow") && !event.shiftKey) {
      event.preventDefault();
      grid.commit();
      this.go(event);
    } else if (typing && event.key !== "F8") {
      return;
    } else if (isControl(event) && event.key.toLowerCase() === "a") {
      event.preventDefault();
      grid.selectAll();
    } else if (event.key === " " && event.shiftKey) {
      event.preventDefault();
      grid.selectRow(grid.at);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      grid.erase();
    } else if (event.key in MOVES) {
      event.preventDefault();
      this.go(event);
    } else {
      this.shortcut(event);
    }
  }

  // Moves as a key says, with Shift extending the selection; with Ctrl to the end of filled cells.
  go(event) {
    const { grid } = this;
    const from = event.shiftKey ? grid.end : grid;
    const [down, right] = MOVES[event.key];
    const isFar = isControl(event);
    if (isFar && event.key.startsWith("Arrow")) {
      if (down) this.jump(down > 0, event.shiftKey);
      else grid.move(from.at, this.edgeOfRow(from, right), event.shiftKey);
      return;
    }
    const rows = { PageUp: -this.page, PageDown: this.page, Home: isFar ? -Infinity : 0, End: isFar ? Infinity : 0 };
    const column = Number.isFinite(right) ? grid.columns.beside(from.column, right) : right;
    grid.move(from.at + (rows[event.key] ?? down), column, event.shiftKey);
  }

  get page() {
    const { grid } = this;
    return Math.max(1, Math.floor((grid.box.clientHeight - HEAD_HEIGHT) / ROW_HEIGHT) - 1);
  }

  // The column where the filled or empty cells of a row end.
  edgeOfRow({ at, column }, by) {
    const { grid } = this;
    const isFilled = (place) => grid.textAt(at, place) !== "";
    const next = (place) => grid.columns.beside(place, by);
    const isRun = isFilled(column) && isFilled(next(column));
    let place = isRun ? column : next(column);
    const isEnd = () => (isRun ? !isFilled(next(place)) : isFilled(place));
    while (next(place) !== place && !isEnd()) place = next(place);
    return place;
  }

  // Goes to the row where the filled or empty cells of a column end, which the server knows.
  jump(down, extend) {
    const { grid } = this;
    const run = async () => {
      const { at, column } = extend ? grid.end : grid;
      const row = grid.rowAt(at);
      const end = row ? await grid.handlers.edge(row.row, column, down) : null;
      if (end !== null && (!grid.isTyping || grid.typed.isEarly)) grid.move(end, column, extend);
    };
    this.wait((this.jumping ?? Promise.resolve()).then(run));
  }

  // Keys wait until a move has ended, so that they reach the cell to which it goes.
  wait(move) {
    const own = move.finally(() => {
      if (this.jumping === own) this.jumping = null;
    });
    this.jumping = own;
  }

  // Handles keys that also work outside the text area.
  shortcut(event) {
    const { grid } = this;
    const name = event.key.toLowerCase();
    if (name === "f8") {
      grid.commit();
      this.wait(grid.handlers.nextError());
    } else if (isControl(event) && (name === "z" || name === "y")) {
      grid.handlers.step(name === "y" || event.shiftKey ? "redo" : "undo");
    } else if (isControl(event) && (name === "f" || name === "h")) {
      grid.handlers.find();
    } else if (isControl(event) && name === "d") {
      grid.handlers.fill();
    } else {
      return;
    }
    event.preventDefault();
  }
}
