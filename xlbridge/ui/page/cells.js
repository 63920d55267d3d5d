// Cells of the grid, with their classes and roles.

import { element } from "./core.js";

export const ROW_HEIGHT = 28;
export const HEAD_HEIGHT = 56;

// Column names are long words: allows line breaks before capital letters.
export function breakable(text) {
  return text.split(/(?<=\p{Ll})(?=\p{Lu})/u).flatMap((part) => [part, element("wbr")]).slice(0, -1);
}

export function cell(classes, text, role) {
  const one = element("div", text, `cell ${classes}`);
  one.setAttribute("role", role);
  return one;
}

export function worst(marks) {
  const order = ["error", "refused", "warning", "planned"];
  return order.find((name) => marks.some((mark) => mark.severity === name));
}
