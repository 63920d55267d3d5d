// Rows of a view, fetched in windows; each window is asked for once.

const WINDOW = 100;

export class RowWindows {
  // fetchRows(start, count, renew) gives {total, rows}, or null where they could not be fetched;
  // ``growing`` rows go on below the last one, an empty one, where new ones may begin
  constructor(fetchRows, growing) {
    this.fetchRows = fetchRows;
    this.growing = growing;
    this.total = null; // known with the first window
    this.found = new Map();
    this.asked = new Map();
  }

  // The row at a position of the view; undefined while it is not there.
  rowAt(at) {
    const rows = this.found.get(Math.floor(at / WINDOW));
    return rows ? rows[at % WINDOW] : undefined;
  }

  // The sheet's number of the row at a position, also of one that is still to begin.
  numberAt(at) {
    const row = this.rowAt(at);
    if (row || !this.growing || at < this.total) return row && row.row;
    return this.rowAt(this.total - 1).row + at - this.total + 1;
  }

  // Fetches the rows of the windows between two positions; tells whether all are there.
  async fetch(first, last = first, renew = false) {
    const numbers = [];
    for (let one = Math.floor(first / WINDOW); one <= Math.floor(last / WINDOW); one += 1) {
      if (numbers.length && one * WINDOW >= this.total) break;
      if (!this.asked.has(one)) this.asked.set(one, this.fetchWindow(one, renew && !numbers.length));
      numbers.push(one);
      await this.asked.get(one);
    }
    return numbers.every((one) => this.found.has(one));
  }

  async fetchWindow(number, renew) {
    const answer = await this.fetchRows(number * WINDOW, WINDOW, renew);
    if (answer === null) {
      this.asked.delete(number);
      return;
    }
    this.total = answer.total;
    this.found.set(number, answer.rows);
  }
}
