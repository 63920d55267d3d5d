// Control totals: tables of rows and amounts, with a picture where there are several lines.

import { element, reportTable } from "./core.js";

const [LABEL, BAR, TEXT, HEIGHT] = [96, 200, 104, 22]; // of a picture, in its own units

export function totalsParts(totals) {
  const shown = element("div", undefined, "totals");
  for (const one of totals ?? []) {
    const part = element("figure");
    part.append(reportTable(one));
    if (one.bars.length) part.append(barChart(one));
    shown.append(part);
  }
  return totals?.length ? [shown] : [];
}

// Bars of one colour; a negative amount has none. The numbers are in the table, too.
function barChart({ title, bars }) {
  const most = Math.max(...bars.map((one) => one.value), 1);
  const chart = drawing("svg", { viewBox: `0 0 ${LABEL + BAR + TEXT} ${bars.length * HEIGHT}`, role: "img" });
  chart.setAttribute("aria-label", `${title}: ${bars.map((one) => `${one.label} ${one.text}`).join("; ")}`);
  bars.forEach(({ label, value, text }, at) => {
    const middle = at * HEIGHT + HEIGHT / 2;
    const width = Math.max((value / most) * BAR, value > 0 ? 1 : 0);
    chart.append(
      drawing("text", { x: LABEL - 6, y: middle, class: "label" }, label),
      drawing("rect", { x: LABEL, y: at * HEIGHT + 3, width, height: HEIGHT - 6 }),
      drawing("text", { x: LABEL + width + 6, y: middle }, text),
    );
  });
  return chart;
}

function drawing(name, attributes, text) {
  const one = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  if (text !== undefined) one.textContent = text;
  return one;
}
