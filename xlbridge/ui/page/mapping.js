// Mapping: each header of the sheet with sample values, and the column that it is mapped to.
// Columns have the form of the mapping file: from, join or constant.

import { byId, dropFieldProblem, element, fill, input, labelled, option, post, replaceChoices, showFieldProblem, showProblem, tableLine, texts } from "./core.js";

const SEVERAL = "*";
let form = null;
let columns = {};
let changed = false;
let confirmed = null; // called with the sheet validated by the confirmed mapping

export function showMapping(mapping, whenConfirmed) {
  form = mapping;
  confirmed = whenConfirmed;
  changed = false;
  byId("mapping").hidden = mapping === null;
  byId("to-mend").hidden = false;
  if (mapping === null) return;
  columns = structuredClone(mapping.columns);
  byId("mapping").open = mapping.kind !== "own" && mapping.kind !== "confirmed";
  byId("mapping-advice").textContent = texts[`mapping_${mapping.kind}`];
  draw();
  if (["proposed", "remembered"].includes(mapping.kind)) askUnknownNames();
}

// Asks for the names that the system does not have, below the headers of their columns.
async function askUnknownNames() {
  const shown = form;
  const { resource, sheet, header_row } = form;
  if (!Object.values(columns).some((body) => body.link && body.from)) return;
  const answer = await post("/api/unknown-names", { resource, sheet, header_row }, { silent: true, showBeside: () => true });
  if (form !== shown || answer === null) return;
  if (answer.error) byId("mapping-advice").append(" ", fill(texts.names_not_looked_up, { why: answer.error }));
  const asked = Object.entries(answer.columns).filter(([name, body]) => columns[name]?.link && columns[name].from === body.from);
  if (!asked.length) return;
  for (const [name, body] of asked) {
    columns[name].values = { ...body.values, ...columns[name].values };
    form.reasons[name] = answer.reasons[name];
  }
  byId("mapping").open = true;
  changed = true;
  const { id, dataset } = document.activeElement;
  draw();
  const same = (one) => (id ? one.id === id : dataset.column && one.dataset.column === dataset.column && one.dataset.word === dataset.word);
  [...byId("mapping").querySelectorAll("input, button")].find(same)?.focus();
}

function draw() {
  const used = form.headers.filter((one) => usesOf(one.header).length).length;
  const counts = { used, all: form.headers.length };
  byId("mapping-title").textContent = fill(texts.mapping, counts);
  byId("columns").replaceChildren(...form.headers.map(headerLine));
  byId("constants").replaceChildren(...constantParts());
  byId("map").disabled = form.kind !== "proposed" && !changed;
  byId("map").className = byId("map").disabled ? "" : "main";
  byId("to-mend").hidden = form.kind === "proposed";
}

const sourcesOf = (body) => body.join || [body.from, body.month].filter((one) => one !== undefined && one !== "?");
const usesOf = (header) => Object.keys(columns).filter((name) => sourcesOf(columns[name]).includes(header));
const titleOf = (name) => form.targets.find((one) => one.name === name)?.title ?? name;
const asText = (value) => (value === null || value === undefined || value === "?" ? "" : String(value));

function headerLine(one) {
  const names = usesOf(one.header);
  const chosen = element("select");
  chosen.setAttribute("aria-label", `${one.header}: ${texts.meaning}`);
  chosen.dataset.header = one.header;
  chosen.disabled = !one.usable;
  const several = names.length > 1 || (names.length === 1 && (["join", "when", "month"].some((key) => columns[names[0]][key])));
  chosen.append(option("", texts.not_used));
  if (several) chosen.append(option(SEVERAL, names.map(titleOf).join(" + ")));
  for (const target of form.targets) {
    const mark = target.required ? " *" : "";
    const offered = option(target.name, `${target.title}${mark}`);
    offered.title = target.name;
    chosen.append(offered);
  }
  chosen.value = several ? SEVERAL : names[0] || "";
  chosen.addEventListener("change", () => choose(one.header, chosen.value));
  const why = element("div");
  const reasons = new Set();
  for (const name of names) {
    const reason = form.reasons[name];
    if (reason && !reasons.has(reason)) why.append(element("div", reason, "quiet"));
    reasons.add(reason);
    if (columns[name].values) why.append(...valueParts(name));
    if (columns[name].month && columns[name].from === one.header) why.append(...monthParts(name));
  }
  if (form.rows[one.header]) why.append(...rowParts(one.header));
  if (!one.usable) why.append(texts.header_twice);
  const line = tableLine([`${one.letters} · ${one.header}`, one.samples.join(" · "), [chosen], [why]]);
  if (form.kind === "proposed" && names.length === 0 && !form.rows[one.header]) line.className = "unused";
  return line;
}

async function choose(header, name) {
  if (name === SEVERAL) return;
  const shown = form;
  const place = { resource: form.resource, sheet: form.sheet, header_row: form.header_row };
  const request = { ...place, header, column: name };
  await replaceChoices(
    () => (name ? post("/api/mapping-column", request) : {}),
    (body) => {
      for (const other of usesOf(header)) delete columns[other];
      if (name) columns[name] = body;
      changed = true;
    },
  );
  if (form !== shown) return;
  draw();
  [...byId("columns").querySelectorAll("select")].find((one) => one.dataset.header === header).focus();
}

function valueParts(name) {
  return Object.keys(columns[name].values).map((text) => {
    const typed = input("text", { size: 10, required: true, value: asText(columns[name].values[text]) });
    typed.dataset.column = name;
    typed.dataset.word = text;
    typed.addEventListener("input", () => {
      columns[name].values[text] = typed.value;
      noteChange(typed);
    });
    return labelled(`${text} → ${titleOf(name)}`, typed);
  });
}

function rowParts(header) {
  const words = form.rows[header];
  return Object.keys(words).map((text) => {
    const chosen = element("select");
    chosen.required = true;
    chosen.append(option("", ""), option("true", texts.rows_read), option("false", texts.rows_left_out));
    chosen.value = asText(words[text]);
    chosen.addEventListener("change", () => {
      words[text] = chosen.value === "" ? "?" : chosen.value === "true";
      noteChange(chosen);
    });
    return labelled(text, chosen);
  });
}

function monthParts(name) {
  const body = columns[name];
  const months = element("select");
  months.required = true;
  months.append(option("", ""), ...form.headers.map((one) => option(one.header, one.header)));
  months.value = asText(body.month);
  months.addEventListener("change", () => {
    body.month = months.value || "?";
    noteChange(months);
    draw();
  });
  const value = body.later === undefined ? "0" : asText(body.later);
  const later = input("number", { min: "0", required: true, value });
  later.addEventListener("input", () => {
    body.later = later.value;
    noteChange(later);
  });
  return [labelled(texts.month_of_days, months), labelled(texts.months_later, later)];
}

function constantParts() {
  const lacking = form.targets.filter(
    (target) =>
      (target.required && !target.differs && !columns[target.name]) || "constant" in (columns[target.name] || {}),
  );
  const missing = form.targets.filter((one) => one.required && one.differs && !columns[one.name]);
  const parts = lacking.map((target) => {
    const value = asText((columns[target.name] || {}).constant);
    const typed = input("text", { required: target.required, value });
    typed.dataset.column = target.name;
    typed.addEventListener("input", () => {
      if (typed.value) columns[target.name] = { constant: typed.value };
      else delete columns[target.name];
      noteChange(typed);
    });
    const field = labelled(`${target.title}${target.required ? " *" : ""}`, typed);
    field.title = target.name;
    return field;
  });
  const asked = parts.length ? [element("p", texts.constants), ...parts] : [];
  const names = missing.map((one) => one.title).join(", ");
  return missing.length ? [element("p", fill(texts.differs, { names })), ...asked] : asked;
}

function noteChange(typed) {
  dropFieldProblem(typed);
  changed = true;
  byId("map").disabled = false;
  byId("map").className = "main";
}

// Shows messages beside fields, which are given or those of columns and words of the sheet; the first is
// brought into view.
function showProblems(problems) {
  const controls = [...byId("mapping").querySelectorAll("input, #columns select")];
  for (const { field, column, word, message } of problems) {
    const own = controls.filter((one) => one.dataset.column === column);
    const found = field ?? own.find((one) => one.dataset.word === (word ?? undefined)) ?? own[0];
    const control = found ?? controls.find((one) => usesOf(one.dataset.header).includes(column));
    if (control) showFieldProblem(control, message);
  }
  byId("mapping").querySelector("[aria-invalid]")?.focus();
}

async function confirm() {
  const empty = [...byId("mapping").querySelectorAll("input, #columns select")].filter((one) => !one.checkValidity());
  if (empty.length) {
    showProblem(texts.not_confirmed);
    showProblems(empty.map((field) => ({ field, message: texts.fill_in })));
    return;
  }
  const { resource, sheet, header_row, rows, once, accept } = form;
  const content = { resource, sheet, header_row, columns, rows, once, accept };
  let problems = [];
  const showBeside = (error) => {
    problems = error.fields ?? [];
    return false; // the message above says that nothing is confirmed yet
  };
  await replaceChoices(
    () => post("/api/map", content, { showBeside }),
    (answer) => {
      confirmed(answer);
      byId(byId("known-send").hidden ? "to-mend" : "known-send").focus();
    },
  );
  showProblems(problems);
}

export function setUpMapping() {
  byId("map").addEventListener("click", confirm);
}
