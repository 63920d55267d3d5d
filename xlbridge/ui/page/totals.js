// Tables of control totals, with the pictures that the server draws.

import { element, reportTable } from "./core.js";

const LONG = 14; // lines of a table that scrolls by itself
const NARROW = 4; // columns that fit into a narrow window
const SVG = "http://www.w3.org/2000/svg";

export function totalsParts(totals) {
  const shown = element("div", undefined, "totals");
  for (const one of totals ?? []) {
    const part = element("figure");
    const table = reportTable(one, {}, one.headings.length > NARROW ? "stacked" : undefined);
    if (one.lines.length > LONG) {
      table.classList.add("long");
      for (const [key, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", one.title]]) table.setAttribute(key, value);
    }
    part.append(table);
    if (one.picture) part.append(drawing(one.picture));
    shown.append(part);
  }
  return totals?.length ? [shown] : [];
}

function drawing([name, attributes, text, parts]) {
  const one = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  one.append(text, ...parts.map(drawing));
  return one;
}
