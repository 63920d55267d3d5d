// Values for the cell being typed into, below it: those of a closed list, or records by their names.

import { element } from "./core.js";

export class Choices {
  constructor(list, input, take) {
    this.list = list;
    this.input = input;
    this.take = take; // called with the chosen value
    this.at = -1; // the highlighted one, which Enter takes
    this.list.addEventListener("mousedown", (event) => {
      event.preventDefault(); // the text area keeps the focus
      event.stopPropagation();
      const one = event.target.closest("li");
      if (one) this.take(one.dataset.value);
    });
  }

  get isShown() {
    return !this.list.hidden;
  }

  // Offers the values of a closed list that begin as what was typed; all of them if it is one of them.
  offerValues(allowed) {
    const typed = this.input.value.trim().toLocaleLowerCase();
    const isComplete = allowed.some((one) => one.toLocaleLowerCase() === typed);
    const offered = isComplete ? allowed : allowed.filter((one) => one.toLocaleLowerCase().startsWith(typed));
    this.offer(offered.map((value) => ({ value, text: value })));
  }

  offer(offered) {
    this.list.replaceChildren(
      ...offered.map(({ value, text }, at) => {
        const one = element("li", text);
        one.dataset.value = value;
        one.id = `choice-${at}`;
        one.setAttribute("role", "option");
        return one;
      }),
    );
    this.list.hidden = !offered.length;
    this.highlight(-1);
  }

  hide() {
    this.list.hidden = true;
    this.at = -1;
  }

  // Handles a key; returns whether it was one for the list.
  key(event) {
    if (!this.isShown) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const { length } = this.list.children;
      this.highlight(this.at < 0 && step < 0 ? length - 1 : (this.at + step + length) % length);
    } else if ((event.key === "Enter" || event.key === "Tab") && this.at >= 0) {
      this.input.value = this.list.children[this.at].dataset.value;
      return false; // the grid commits it
    } else {
      return false;
    }
    event.preventDefault();
    return true;
  }

  highlight(at) {
    this.at = at;
    [...this.list.children].forEach((one, place) => one.setAttribute("aria-selected", String(place === at)));
    const id = at < 0 ? "cell-here" : `choice-${at}`;
    this.input.setAttribute("aria-activedescendant", id);
    if (at >= 0) this.list.children[at].scrollIntoView({ block: "nearest" });
  }
}
