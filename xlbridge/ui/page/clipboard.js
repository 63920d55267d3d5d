// Text of the clipboard, as Excel writes it: cells between tabs, those with breaks or quotes between quotes.

export const clipboardText = (rows) => rows.map((cells) => cells.map(quoteCell).join("\t")).join("\n");

function quoteCell(text) {
  return /["\t\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Returns the rows of cells that a text holds.
export function parseClipboard(text) {
  const rows = [[]];
  let value = "";
  let quoted = false;
  const body = text.replace(/\r\n?/g, "\n").replace(/\n$/, "");
  for (let at = 0; at < body.length; at += 1) {
    const sign = body[at];
    if (quoted) {
      if (sign === '"' && body[at + 1] === '"') {
        value += '"';
        at += 1;
      } else if (sign === '"') quoted = false;
      else value += sign;
    } else if (sign === '"' && value === "") quoted = true;
    else if (sign === "\t" || sign === "\n") {
      rows.at(-1).push(value);
      value = "";
      if (sign === "\n") rows.push([]);
    } else value += sign;
  }
  rows.at(-1).push(value);
  return rows;
}
