// Tables of control totals, with the pictures that the server draws.

import { element, reportTable } from "./core.js";

const SVG = "http://www.w3.org/2000/svg";

export function totalsParts(totals) {
  const shown = element("div", undefined, "totals");
  for (const one of totals ?? []) {
    const part = element("figure");
    part.append(reportTable(one));
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
