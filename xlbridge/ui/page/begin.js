// Begin: open a workbook, continue a draft, choose resource, sheet and conventions.

import { button, byId, call, element, errorText, fill, followLine, isFocusLost, link, newest, option, post, replaceChoices, show, showProblem, showShare, showUntil, startBy, state, tableLine, tableRows, texts, whenShown } from "./core.js";
import { checkNames, showMapping } from "./mapping.js";
import { goToSend, showSheet } from "./correct.js";
import { forgetOptions } from "./send.js";

const CSV_CHOICES = ["csv_delimiter", "csv_encoding"];

let csv = null; // the last file, if its delimiter and encoding may have to be chosen
let reading = null; // controller that aborts the file being read

function openNew(file) {
  csv = /\.(csv|tsv|txt)$/i.test(file.name) ? file : null;
  byId("csv-form").hidden = csv === null;
  for (const name of CSV_CHOICES) byId(name).value = "";
  return openFile(file);
}

async function openFile(file) {
  if (reading) reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  const about = fill(texts.reading_file, { file: file.name, mb: Math.ceil(file.size / 2 ** 20) });
  byId("reading-status").textContent = about;
  showShare(byId("reading-share"));
  byId("reading").hidden = false;
  const headers = { "X-File-Name": encodeURIComponent(file.name) };
  const [delimiter, encoding] = CSV_CHOICES.map((name) => byId(name).value);
  const opened = replaceChoices(
    () => call("/api/open", { body: file, headers, query: { delimiter, encoding }, signal, prefix: `${file.name}: ` }),
    (answer) => {
      for (const name of ["resource", "sheet", "dates", "numbers"]) byId(name).value = "";
      showKnown(answer);
    },
  );
  const isNewest = await showUntil(opened, "/api/progress", (progress) => showProgress(about, progress));
  if (!isNewest) return;
  byId("reading").hidden = true;
  if (isFocusLost() || document.activeElement.type === "file") byId("known-title").focus({ preventScroll: true });
}

function showProgress(about, progress) {
  if (!progress.reading) return;
  const step = "rows" in progress ? texts.rows_so_far : "column" in progress ? texts.checking_column : "";
  byId("reading-status").textContent = `${about} ${fill(step, progress)}`;
  showShare(byId("reading-share"), { done: progress.number, total: progress.count });
}

function choose(more) {
  const choice = { resource: byId("resource").value, sheet: byId("sheet").value, ...more };
  return replaceChoices(() => post("/api/choose", choice), showKnown);
}

function chooseReading() {
  if (byId("to-mend").disabled) return;
  const conventions = { dates: byId("dates").value, numbers: byId("numbers").value };
  replaceChoices(() => post("/api/reading", conventions), showKnown);
}

export function showKnown(answer) {
  forgetOptions();
  byId("known").hidden = false;
  byId("first-steps").hidden = true;
  byId("file-name").textContent = byId("file-name").title = answer.file || "";
  const names = answer.sheets.map((name) => option(name, name));
  const chosen = byId("sheet").value;
  byId("sheet").replaceChildren(option("", texts.recognise), ...names);
  byId("sheet").value = answer.sheets.includes(chosen) ? chosen : "";
  const recognised = "rows" in answer;
  const form = answer.mapping;
  // Errors of unconfirmed columns mean nothing yet.
  const isProposed = form?.kind === "proposed";
  for (const one of [byId("to-mend"), ...document.querySelectorAll("nav [data-view=mend], nav [data-view=send]")]) {
    one.disabled = !recognised || isProposed;
    one.title = one.disabled ? texts.needs_sheet : "";
  }
  showMapping(answer.mapping || null, showKnown);
  byId("header-row").value = answer.header_row ?? (form ? form.header_row : "");
  if (!recognised) {
    byId("known-title").textContent = form ? [...new Set([form.title, form.sheet])].join(" · ") : answer.file;
    const messages = answer.error ? [errorText(answer.error)] : [];
    if (!answer.empty) messages.push(form ? texts.confirm_first : texts.say_resource);
    byId("known-counts").textContent = messages.join(" ");
    for (const name of form ? ["resource", "sheet"] : []) byId(name).value = form[name];
    state.sheet = null;
    byId("known-send").hidden = true;
    return;
  }
  for (const name of ["sheet", "resource", "dates", "numbers"]) byId(name).value = answer[name] ?? "";
  byId("known-title").textContent = [...new Set([answer.title || answer.resource, answer.sheet])].join(" · ");
  const header = fill(texts.header_row, { n: answer.header_row ?? "–" });
  const facts = [header, answer.counts, answer.read_as];
  byId("known-counts").textContent = isProposed ? texts.confirm_first : facts.filter(Boolean).join(" · ");
  // A sheet without errors can be sent at once.
  const isGood = answer.sendable && answer.errors === 0 && !isProposed;
  byId("known-send").hidden = !isGood;
  byId("known-send").className = isGood ? "main" : "";
  byId("to-mend").className = isProposed || isGood ? "" : "main";
  showSheet(answer);
}

async function openSample() {
  await replaceChoices(() => post("/api/sample", {}), showKnown);
  if (!byId("to-mend").disabled) byId("to-mend").focus();
}

async function listDrafts(request) {
  const answer = await newest("drafts", request);
  if (answer === null) return;
  byId("drafts-card").hidden = answer.drafts.length === 0;
  const titles = [texts.file, texts.resource, texts.changed_cells, texts.when, ""];
  const lines = answer.drafts.map((draft) => {
    const go = button(texts.continue_draft, () => continueDraft(draft.id));
    const drop = button(texts.discard, () => listDrafts(post("/api/discard", { id: draft.id })));
    return tableLine([draft.file, draft.title, draft.cells, draft.changed_at, [go, " ", drop]]);
  });
  byId("drafts").replaceChildren(...tableRows(titles, lines));
}

// Opens a workbook with its stored edits; returns whether it is shown.
export const continueDraft = (id) => openInGrid("/api/continue", { id });

// Opens a workbook in the grid; returns whether it is shown.
export async function openInGrid(path, content) {
  let isShown = false;
  await replaceChoices(
    () => post(path, content),
    (answer) => {
      showKnown(answer);
      show("mend");
      isShown = true;
    },
  );
  return isShown;
}

export function setUpBegin() {
  const file = document.querySelector('[data-testid="drop"]');
  file.addEventListener("change", () => {
    if (file.files.length) openNew(file.files[0]);
    file.value = "";
  });
  // A file may be dropped anywhere: otherwise the browser would open it instead of the page.
  const area = byId("drop-area");
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    area.classList.add("over");
  });
  document.addEventListener("dragleave", () => area.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    area.classList.remove("over");
    const { files, items } = event.dataTransfer;
    if (files.length === 0) return;
    event.preventDefault();
    show("begin");
    if (files.length > 1 || items[0].webkitGetAsEntry()?.isDirectory) showProblem(texts.one_file);
    else openNew(files[0]);
  });
  for (const name of ["resource", "sheet"]) byId(name).addEventListener("change", () => choose());
  for (const name of CSV_CHOICES) byId(name).addEventListener("change", () => openFile(csv));
  for (const name of ["dates", "numbers"]) byId(name).addEventListener("change", chooseReading);
  byId("header-row").addEventListener("change", () => choose({ header_row: byId("header-row").value }));
  byId("stop-reading").addEventListener("click", () => reading.abort());
  byId("to-mend").addEventListener("click", () => show("mend"));
  byId("known-send").addEventListener("click", () => goToSend());
  byId("sample")?.addEventListener("click", openSample);
  for (const id of ["template", "template-lists"]) byId(id).addEventListener("change", showTemplate);
  byId("template-make").addEventListener("click", makeTemplate);
  showTemplate();
  whenShown("begin", () => {
    listDrafts(call("/api/drafts", { silent: true }));
    checkNames();
  });
}

function showTemplate() {
  byId("template-link").href = `/api/template?resource=${encodeURIComponent(byId("template").value)}`;
  byId("template-made").replaceChildren();
}

// Makes a template with lists, which takes a while, and saves it.
async function makeTemplate() {
  byId("template-made").replaceChildren();
  const content = { resource: byId("template").value };
  if (await startBy(byId("template-make"), () => post("/api/template-with-lists", content))) followTemplate();
}

export function followTemplate() {
  followLine("template-make", ({ resource, lines }) => {
    const made = link(texts.download_export, "/api/template-with-lists", { resource });
    byId("template-made").replaceChildren(...lines.map((text) => element("p", text, "cut")), made);
    made.click();
  });
}
