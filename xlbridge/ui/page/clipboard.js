// Clipboard text as Excel writes it: cells separated by tabs, quoted if they contain breaks or quotes.

export const clipboardText = (rows) => rows.map((cells) => cells.map(quoteCell).join("\t")).join("\n");

function quoteCell(text) {
  return /["\t\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const CELL = /(?:"([^"]*(?:""[^"]*)*)(?:"|$))?([^\t\n]*)(\t|\n|$)/g; // a quoted part, the rest, what ends it

// Returns the rows of cells in a text.
export function parseClipboard(text) {
  const rows = [[]];
  for (const [, quoted = "", rest, end] of text.replace(/\r\n?/g, "\n").replace(/\n$/, "").matchAll(CELL)) {
    rows.at(-1).push(quoted.replaceAll('""', '"') + rest);
    if (end === "\n") rows.push([]);
    else if (!end) break;
  }
  return rows;
}
