// Rows of a view, fetched in windows, each of them once.

const WINDOW = 50;

export class RowWindows {
  // fetchRows(start, count, renew) returns {total, rows}, or null on failure; ``growing`` views allow
  // new rows below the last one, which is empty
  constructor(fetchRows, growing) {
    this.fetchRows = fetchRows;
    this.growing = growing;
    this.total = null; // known with the first window
    this.fetched = new Map();
    this.requested = new Map();
  }

  // Position of the first row of the windows with the rows between two positions, and their number of rows.
  static around(first, last) {
    const start = first - (first % WINDOW);
    return { start, count: last - (last % WINDOW) + WINDOW - start };
  }

  // Takes rows that came with the answer to an edit.
  take({ start, total, rows }) {
    let at = 0;
    do {
      const number = (start + at) / WINDOW;
      this.requested.set(number, Promise.resolve());
      this.put(number, { total, rows: rows.slice(at, at + WINDOW) });
      at += WINDOW;
    } while (at < rows.length);
  }

  // The row at a position of the view; undefined until it is fetched.
  rowAt(at) {
    const rows = this.fetched.get(Math.floor(at / WINDOW));
    return rows ? rows[at % WINDOW] : undefined;
  }

  // The sheet's row number at a position, also for a new row.
  numberAt(at) {
    const row = this.rowAt(at);
    if (row || !this.growing || at < this.total) return row && row.row;
    return this.rowAt(this.total - 1).row + at - this.total + 1;
  }

  // Fetches the windows between two positions; returns whether all rows are there.
  async fetch(first, last = first, renew = false) {
    const numbers = [];
    for (let one = Math.floor(first / WINDOW); one <= Math.floor(last / WINDOW); one += 1) {
      if (numbers.length && one * WINDOW >= this.total) break;
      if (!this.requested.has(one)) this.requested.set(one, this.fetchWindow(one, renew && !numbers.length));
      numbers.push(one);
      await this.requested.get(one);
    }
    return numbers.every((one) => this.fetched.has(one));
  }

  async fetchWindow(number, renew) {
    const answer = await this.fetchRows(number * WINDOW, WINDOW, renew);
    if (answer === null) {
      this.requested.delete(number);
      return;
    }
    this.put(number, answer);
  }

  put(number, { total, rows }) {
    this.total = total;
    this.fetched.set(number, rows);
  }
}
