// The page: open a workbook, correct it, send it. Every value is set as text, never as markup.

import { Grid } from "./grid.js";

const { texts } = JSON.parse(document.getElementById("page-data").textContent);
const byId = (id) => document.getElementById(id);
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
let sheet = null;
let view = "wrong";

async function call(path, { body, query, headers } = {}) {
  const address = query ? `${path}?${new URLSearchParams(query)}` : path;
  const options = body === undefined ? {} : { method: "POST", body, headers };
  let answer;
  try {
    answer = await fetch(address, options);
  } catch {
    showProblem(texts.lost);
    return null;
  }
  const data = await answer.json().catch(() => null);
  if (data === null || answer.status === 403) {
    showProblem(texts.lost);
    return null;
  }
  showProblem(data.error ? `${data.error.message} ${data.error.hint}` : "");
  return answer.ok ? data : null;
}

const post = (path, data) => call(path, { body: JSON.stringify(data) });

function showProblem(text) {
  byId("problem").textContent = text;
  byId("problem").hidden = !text;
}

function show(name) {
  for (const section of document.querySelectorAll("main > section")) {
    section.hidden = section.id !== name;
  }
  for (const button of document.querySelectorAll("nav button")) {
    if (button.dataset.view === name) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  if (name === "mend") grid.load({ renew: true });
  if (name === "jobs") showJobs();
  if (name === "send") showSendChoices();
}

// Begin

async function openFile(file) {
  byId("reading").hidden = false;
  const answer = await call("/api/open", {
    body: file,
    headers: { "X-File-Name": encodeURIComponent(file.name) },
  });
  byId("reading").hidden = true;
  if (answer) showKnown(answer);
}

async function choose() {
  const answer = await post("/api/choose", {
    resource: byId("resource").value,
    sheet: byId("sheet").value,
    dates: byId("dates").value,
    numbers: byId("numbers").value,
  });
  if (answer) showKnown(answer);
}

function showKnown(answer) {
  byId("known").hidden = false;
  const names = answer.sheets.map((name) => option(name, name));
  byId("sheet").replaceChildren(option("", texts.recognise), ...names);
  const recognised = "resource" in answer;
  byId("to-mend").disabled = !recognised;
  if (!recognised) {
    byId("known-title").textContent = "";
    byId("known-counts").textContent = "";
    byId("columns").replaceChildren();
    return;
  }
  byId("sheet").value = answer.sheet;
  byId("resource").value = answer.resource || "";
  view = answer.errors || answer.warnings ? "wrong" : "all";
  byId("view").value = view;
  update(answer);
  grid.load({ renew: true, keep: false });
}

function option(value, text) {
  const one = document.createElement("option");
  one.value = value;
  one.textContent = text;
  return one;
}

function update(answer) {
  sheet = answer;
  byId("file-name").textContent = answer.file;
  byId("known-title").textContent = [answer.title || answer.resource, answer.sheet].join(" · ");
  const counts = fill(texts.counts, answer);
  const header = fill(texts.header_row, { n: answer.header_row ?? "–" });
  byId("known-counts").textContent = `${header} · ${counts}`;
  const good = answer.errors ? "" : ` · ${texts.all_good}`;
  const edited = answer.edited ? ` · ${fill(texts.edited, { n: answer.edited })}` : "";
  byId("counts").textContent = `${counts}${edited}${good}`;
  byId("columns").replaceChildren(...answer.columns.map(columnLine));
  for (const name of ["mend", "send"]) {
    document.querySelector(`[data-view="${name}"]`).disabled = false;
  }
  grid.setColumns(answer.columns);
  byId("rules").replaceChildren(...answer.rules.map(ruleItem));
}

function columnLine(column) {
  const meaning = column.name
    ? `${column.name}${column.required ? ` (${texts.required})` : ""}`
    : texts.not_used;
  return tableLine([column.letters, column.header, meaning]);
}

function tableLine(values, kind = "td") {
  const line = document.createElement("tr");
  for (const value of values) {
    const one = document.createElement(kind);
    if (value instanceof Node) one.append(value);
    else one.textContent = value;
    line.append(one);
  }
  return line;
}

// Correct

const grid = new Grid(byId("grid"), {
  fetchRows: (start, count, renew) =>
    call("/api/rows", { query: { start, count, view, renew: renew ? "1" : "0" } }),
  async edit(cells) {
    const first = sheet.columns.length ? firstColumn() : 0;
    const given = cells.map((one) => ({ row: one.row, column: first + one.place, value: one.value }));
    await changed(await post("/api/edit", given));
  },
  current: showRemark,
  nextError,
  step,
});
byId("grid").dataset.nothing = texts.empty_view;

function firstColumn() {
  let number = 0;
  for (const letter of sheet.columns[0].letters) number = number * 26 + letter.charCodeAt(0) - 64;
  return number - 1;
}

async function changed(answer) {
  if (answer === null) return;
  update(answer);
  await grid.load();
  grid.tell();
}

async function step(name) {
  await changed(await post("/api/step", { step: name }));
}

function showRemark(row, place) {
  const marks = row.marks[place] || [];
  const address = `${sheet.columns[place].letters}${row.row}`;
  const said = marks.map((mark) => `${mark.message} ${mark.hint}`.trim());
  byId("remark").textContent = [address, row.cells[place], ...said].filter(Boolean).join(" · ");
}

async function nextError() {
  const row = grid.rowAt(grid.at);
  const query = { row: row ? row.row : 0, column: firstColumn() + grid.column, view };
  if (grid.at === 0 && grid.column === 0 && row && !row.visited) query.column = -1;
  const found = await call("/api/next-error", { query });
  if (found === null || found.row === null) return;
  if (found.position === null) {
    await changeView("wrong");
    return nextError();
  }
  await grid.fetch(Math.floor(found.position / 100));
  const target = grid.rowAt(found.position);
  if (target) target.visited = true;
  grid.move(found.position, found.column - firstColumn());
  grid.input.focus({ preventScroll: true });
}

async function changeView(name) {
  view = name;
  byId("view").value = ["wrong", "all"].includes(name) ? name : "rule";
  byId("view").options[2].hidden = byId("view").value !== "rule";
  await grid.load({ renew: true, keep: false });
}

function ruleItem(rule) {
  const item = document.createElement("li");
  item.className = rule.severity;
  item.dataset.rule = rule.key;
  const button = document.createElement("button");
  button.className = "rule";
  const count = document.createElement("span");
  count.className = "count";
  count.textContent = rule.count;
  const place = rule.column ? `${rule.column}: ` : "";
  button.append(count, `${place}${rule.message}`);
  button.addEventListener("click", () => changeView(rule.key));
  item.append(button);
  if (rule.fixable) {
    const fix = document.createElement("button");
    fix.dataset.testid = "fix-all";
    fix.textContent = fill(texts.fix_all, { n: rule.fixable });
    fix.addEventListener("click", () => showFixes(rule.key));
    item.append(fix);
  }
  return item;
}

async function showFixes(rule) {
  const found = await call("/api/fixes", { query: { rule } });
  if (found === null) return;
  byId("fixes-title").textContent = fill(texts.fix_what, { n: found.count });
  const lines = found.cells.map((one) => tableLine([one.cell, one.before, "→", one.after]));
  byId("fixes-table").replaceChildren(...lines);
  byId("fixes-do").onclick = async () => {
    byId("fixes").close();
    await changed(await post("/api/fix", { rule }));
  };
  byId("fixes").showModal();
}

// Send

function showSendChoices() {
  const left = byId("errors-left");
  left.hidden = !sheet || sheet.errors === 0;
  left.textContent = sheet ? fill(texts.has_errors, { n: sheet.errors }) : "";
}

const sendOptions = () => ({ good_rows: byId("good-rows").checked, update: byId("update").checked });

async function plan() {
  byId("plan").disabled = true;
  const shown = byId("plan-shown");
  shown.hidden = false;
  shown.replaceChildren(texts.planning);
  const planned = await post("/api/plan", sendOptions());
  byId("plan").disabled = false;
  shown.hidden = planned === null;
  if (planned !== null) shown.replaceChildren(...planParts(planned));
}

function planParts(planned) {
  const where = document.createElement("p");
  const kind = document.createElement("span");
  kind.className = planned.production ? "production" : "practice";
  kind.textContent = planned.production ? texts.production : planned.environment;
  where.append(`${texts.environment}: ${planned.environment} (${planned.address}) `, kind);
  const figures = document.createElement("ul");
  figures.className = "figures";
  const names = ["create", "update", "unchanged", "held", "unread"];
  for (const name of names.filter((one) => planned.counts[one])) {
    const item = document.createElement("li");
    const number = document.createElement("b");
    number.textContent = planned.counts[name];
    item.append(number, texts[name === "update" ? "update_action" : name]);
    item.dataset.action = name;
    figures.append(item);
  }
  const table = document.createElement("table");
  table.append(...planned.rows.slice(0, 200).map(plannedLine));
  if (planned.writes === 0) return [where, figures, table, texts.nothing_to_send];
  const typed = document.createElement("input");
  typed.type = "text";
  typed.setAttribute("aria-label", fill(texts.type_token, { token: planned.token }));
  const send = document.createElement("button");
  send.className = "main";
  send.dataset.testid = "send";
  send.textContent = fill(texts.send_rows, { n: planned.writes });
  send.disabled = planned.production;
  typed.addEventListener("input", () => {
    send.disabled = typed.value.trim() !== planned.token;
  });
  send.addEventListener("click", () => startSending(planned.token, send));
  const ask = document.createElement("p");
  if (planned.production) ask.append(fill(texts.type_token, { token: planned.token }), " ", typed);
  return [where, figures, table, ask, send];
}

function plannedLine(row) {
  const differences = row.differences
    .map((one) => `${one.column}: ${one.yours ?? ""} / ${one.theirs ?? ""}`)
    .join("; ");
  const action = texts[row.action === "update" ? "update_action" : row.action];
  return tableLine([`${texts.row} ${row.row}`, action, row.message ?? "", differences]);
}

async function startSending(token, button) {
  button.disabled = true;
  byId("outcome").hidden = true;
  const started = await post("/api/send", { token, options: sendOptions() });
  if (started) followSending();
}

let events = null;

function followSending() {
  byId("sending").hidden = false;
  byId("progress").textContent = texts.sending;
  if (events) events.close();
  events = new EventSource("/api/events");
  events.onmessage = (event) => showState(JSON.parse(event.data));
  events.onerror = () => showProblem(texts.lost);
}

function showState(state) {
  showProblem("");
  byId("progress").textContent = state.lines.join("\n") || texts.sending;
  byId("progress").scrollTop = byId("progress").scrollHeight;
  byId("cancel").hidden = !state.running;
  if (state.running) return;
  events.close();
  byId("plan-shown").hidden = true;
  if (state.error) showProblem(`${state.error.message} ${state.error.hint}`);
  if (state.outcome) showOutcome(state.outcome);
}

function showOutcome(outcome) {
  const shown = byId("outcome");
  const reasons = outcome.rejected.map((row) => `✗ ${row.cell ?? row.row}: ${row.message}`);
  const lines = [outcome.headline, ...reasons].map((line) => {
    const one = document.createElement("p");
    one.textContent = line;
    return one;
  });
  shown.dataset.state = outcome.state;
  shown.hidden = false;
  shown.replaceChildren(...lines);
  if (outcome.rejects_file) {
    const link = document.createElement("a");
    link.className = "button";
    link.dataset.testid = "download-rejects";
    link.href = `/api/rejects?job=${encodeURIComponent(outcome.job)}`;
    link.textContent = texts.rejects;
    shown.append(link);
  }
  if (outcome.rejected.length) {
    const advice = document.createElement("p");
    advice.textContent = texts.back_to_grid;
    view = "wrong";
    byId("view").value = view;
    shown.append(advice);
  }
}

// Uploads and exports

async function showJobs() {
  const answer = await call("/api/jobs");
  if (answer === null) return;
  const titles = [texts.job, texts.when, texts.state, texts.kind, texts.accepted];
  titles.push(texts.rejected, texts.environment, texts.file, "");
  const lines = answer.jobs.map((job) => {
    const values = [job.job, job.created_at, job.state_name, job.resource, job.rows.accepted];
    values.push(job.rows.rejected, job.profile, job.file, job.final ? "" : resumeButton(job.job));
    return tableLine(values);
  });
  const empty = lines.length ? [] : [tableLine([texts.no_jobs])];
  byId("job-table").replaceChildren(tableLine(titles, "th"), ...lines, ...empty);
}

function resumeButton(job) {
  const button = document.createElement("button");
  button.textContent = texts.resume;
  button.addEventListener("click", async () => {
    const started = await post("/api/resume", { job });
    if (!started) return;
    show("send");
    followSending();
  });
  return button;
}

async function exportListing() {
  const listing = byId("listing").value;
  byId("exported").textContent = texts.reading;
  const answer = await post("/api/export", { listing });
  byId("exported").textContent = "";
  if (answer === null) return;
  const link = document.createElement("a");
  link.className = "button";
  link.href = `/api/exported?listing=${encodeURIComponent(listing)}`;
  link.textContent = texts.download_export;
  byId("exported").append(fill(texts.export_done, { n: answer.manifest.records }), " ", link);
}

const file = document.querySelector('[data-testid="drop"]');
file.addEventListener("change", () => file.files.length && openFile(file.files[0]));
const area = byId("drop-area");
area.addEventListener("dragover", (event) => {
  event.preventDefault();
  area.classList.add("over");
});
area.addEventListener("dragleave", () => area.classList.remove("over"));
area.addEventListener("drop", (event) => {
  event.preventDefault();
  area.classList.remove("over");
  if (event.dataTransfer.files.length) openFile(event.dataTransfer.files[0]);
});
for (const name of ["resource", "sheet", "dates", "numbers"]) {
  byId(name).addEventListener("change", choose);
}
for (const button of document.querySelectorAll("nav button")) {
  button.addEventListener("click", () => show(button.dataset.view));
}
byId("to-mend").addEventListener("click", () => show("mend"));
byId("to-send").addEventListener("click", () => show("send"));
byId("view").addEventListener("change", () => changeView(byId("view").value));
byId("next-error").addEventListener("click", nextError);
byId("undo").addEventListener("click", () => step("undo"));
byId("redo").addEventListener("click", () => step("redo"));
byId("fixes-close").addEventListener("click", () => byId("fixes").close());
byId("plan").addEventListener("click", plan);
byId("cancel").addEventListener("click", () => post("/api/cancel", {}));
byId("export").addEventListener("click", exportListing);
byId("end").addEventListener("click", async () => {
  await post("/api/stop", {});
  document.body.textContent = texts.ended;
});
