// Clipboard text as Excel writes it: cells separated by tabs, quoted if they contain breaks or quotes.

export const clipboardText = (rows) => rows.map((cells) => cells.map(quoteCell).join("\t")).join("\n");

function quoteCell(text) {
  return /["\t\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Returns the rows of cells in a text.
export function parseClipboard(text) {
  const rows = [[]];
  let value = "";
  let quoted = false;
  const body = text.replace(/\r\n?/g, "\n").replace(/\n$/, "");
  for (let at = 0; at < body.length; at += 1) {
    const character = body[at];
    if (quoted) {
      if (character === '"' && body[at + 1] === '"') {
        value += '"';
        at += 1;
      } else if (character === '"') quoted = false;
      else value += character;
    } else if (character === '"' && value === "") quoted = true;
    else if (character === "\t" || character === "\n") {
      rows.at(-1).push(value);
      value = "";
      if (character === "\n") rows.push([]);
    } else value += character;
  }
  rows.at(-1).push(value);
  return rows;
}
