// Mapping: each header of the sheet with sample values, and the column that it is mapped to.
// Columns have the form of the mapping file: from, join or constant.

import { byId, checkFields, dropFieldProblem, element, fill, input, labelled, newest, post, replaceChoices, select, showFieldProblem, showProblem, startRequest, tableLine, texts } from "./core.js";

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
  checkNames();
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
  const several = names.length > 1 || (names.length === 1 && (["join", "when", "month"].some((key) => columns[names[0]][key])));
  const joined = several ? [[SEVERAL, names.map(titleOf).join(" + ")]] : [];
  const targets = form.targets.map(({ name, title, required }) => [name, `${title}${required ? " *" : ""}`, name]);
  const value = several ? SEVERAL : (names[0] ?? "");
  const ariaLabel = `${one.header}: ${texts.meaning}`;
  const chosen = select([["", texts.not_used], ...joined, ...targets], { ariaLabel, disabled: !one.usable, value });
  chosen.dataset.header = one.header;
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

// A field of the form; ``set`` takes what is entered.
function field(text, control, set) {
  control.addEventListener("input", () => {
    dropFieldProblem(control);
    set(control.value);
    noteChange();
  });
  return labelled(text, control);
}

const nameField = (column, word, value, properties) => {
  const control = input("text", { value: asText(value), ...properties });
  Object.assign(control.dataset, { column, ...(word === undefined ? {} : { word }) });
  control.addEventListener("change", checkNames);
  return control;
};

function valueParts(name) {
  const { values } = columns[name];
  return Object.keys(values).map((word) => {
    const control = nameField(name, word, values[word], { size: 10, required: true });
    return field(`${word} → ${titleOf(name)}`, control, (value) => (values[word] = value));
  });
}

function rowParts(header) {
  const words = form.rows[header];
  const meanings = [["", ""], ["true", texts.rows_read], ["false", texts.rows_left_out]];
  return Object.keys(words).map((word) => {
    const control = select(meanings, { required: true, value: asText(words[word]) });
    return field(word, control, (value) => (words[word] = value === "" ? "?" : value === "true"));
  });
}

function monthParts(name) {
  const body = columns[name];
  const headers = form.headers.map((one) => [one.header, one.header]);
  const month = select([["", ""], ...headers], { required: true, value: asText(body.month) });
  const later = input("number", { min: "0", required: true, value: asText(body.later ?? 0) });
  return [
    field(texts.month_of_days, month, (value) => {
      body.month = value || "?";
      draw();
    }),
    field(texts.months_later, later, (value) => (body.later = value)),
  ];
}

function constantParts() {
  const open = form.targets.filter((one) => one.required && !columns[one.name]);
  const isAsked = (one) => (open.includes(one) && !one.differs) || "constant" in (columns[one.name] ?? {});
  const parts = form.targets.filter(isAsked).map(({ name, title, required }) => {
    const control = nameField(name, undefined, columns[name]?.constant, { required });
    const labelled = field(`${title}${required ? " *" : ""}`, control, (value) => {
      if (value) columns[name] = { constant: value };
      else delete columns[name];
    });
    labelled.title = name;
    const part = element("div"); // keeps what is wrong beside its field
    part.append(labelled);
    return part;
  });
  const asked = parts.length ? [element("p", texts.constants), ...parts] : [];
  const missing = open.filter((one) => one.differs).map((one) => one.title);
  return missing.length ? [element("p", fill(texts.differs, { names: missing.join(", ") })), ...asked] : asked;
}

function noteChange() {
  changed = true;
  byId("map").disabled = false;
  byId("map").className = "main";
}

// Shows messages beside the fields of columns and words of the sheet.
function showProblems(problems) {
  const controls = [...byId("mapping").querySelectorAll("input, #columns select")];
  for (const { column, word, message } of problems) {
    const own = controls.filter((one) => one.dataset.column === column);
    const found = own.find((one) => one.dataset.word === (word ?? undefined)) ?? own[0];
    const control = found ?? controls.find((one) => usesOf(one.dataset.header).includes(column));
    if (control) showFieldProblem(control, message);
  }
}

function content() {
  const { resource, sheet, header_row, rows, once, accept } = form;
  return { resource, sheet, header_row, columns, rows, once, accept };
}

// Shows which names have no record, as soon as the system can be asked for them.
export async function checkNames() {
  if (form === null) return;
  const asked = post("/api/mapped-names", content(), { silent: true, showBeside: () => true });
  const answer = await newest("mapped-names", asked);
  if (answer !== null) showProblems(answer.fields);
}

async function confirm() {
  if (!checkFields(byId("mapping").querySelectorAll("input, #columns select"))) {
    showProblem(texts.not_confirmed);
    return;
  }
  let problems = [];
  const showBeside = (error) => {
    problems = error.fields ?? [];
    return false; // the message above says that nothing is confirmed yet
  };
  startRequest("mapped-names");
  await replaceChoices(
    () => post("/api/map", content(), { showBeside }),
    (answer) => {
      confirmed(answer);
      byId(byId("known-send").hidden ? "to-mend" : "known-send").focus();
    },
  );
  showProblems(problems);
  byId("mapping").querySelector("[aria-invalid]")?.focus();
}

export function setUpMapping() {
  byId("map").addEventListener("click", confirm);
}
