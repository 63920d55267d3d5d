// Batches: their steps with the workbooks to correct, runs, closing proofs.

import { button, byId, call, element, errorText, fill, follow, link, post, replaceChoices, show, showLines, startRequest, tableLine, texts, whenShown } from "./core.js";
import { showKnown } from "./begin.js";
import { confirmParts, environmentLine } from "./send.js";

const CORRECTED = ["invalid"]; // states of workbooks that can be corrected in the grid
let opened = null; // batch whose steps are shown

async function showBatches() {
  const isNewest = startRequest("batches");
  const answer = await call("/api/batches");
  if (answer === null || !isNewest()) return;
  if (opened === null && answer.batches.length) opened = answer.batches[0].batch;
  const shown = answer.batches.map((batch) => batchPart(batch, answer.names));
  byId("batch-list").replaceChildren(...(shown.length ? shown : [element("p", texts.no_batches)]));
}

function batchPart(batch, names) {
  const part = element("details");
  part.open = batch.batch === opened;
  part.addEventListener("toggle", () => {
    if (part.open) opened = batch.batch;
  });
  part.append(element("summary", `${batch.batch} · ${batch.created_at}`));
  if (batch.error) part.append(element("p", errorText(batch.error), "problem"));
  else part.append(...batch.lines.map((line) => element("p", line)));
  const tree = element("ul", undefined, "tree");
  tree.append(...batch.steps.map((step) => stepPart(batch, step, names)));
  tree.append(...proofParts(batch));
  part.append(tree);
  if (!batch.error && !batch.done) part.append(runButton(batch.batch));
  return part;
}

function stepPart(batch, step, names) {
  const item = element("li", `${step.step} · ${names[step.state]}`, step.state);
  if (step.problem) item.append(element("div", step.problem, "error"));
  const units = element("ul");
  for (const unit of step.units) {
    const line = element("li", `${unit.name} · ${names[unit.state]}`, unit.state);
    if (unit.problem) line.append(element("div", unit.problem, "error"));
    if (CORRECTED.includes(unit.state)) line.append(...toCorrect(batch.batch, step.step, unit));
    units.append(line);
  }
  item.append(units);
  return item;
}

function toCorrect(batch, step, unit) {
  const target = { batch, step, unit: unit.name };
  const found = unit.findings.map((text) => element("div", text, "error"));
  return [...found, button(fill(texts.correct_unit, { n: unit.errors }), () => openUnit(target))];
}

// Opens a copy of the workbook: the plan's own file is never written.
function openUnit(target) {
  return replaceChoices(
    () => post("/api/batch-unit", target),
    (answer) => {
      showKnown(answer);
      show("mend");
    },
  );
}

function proofParts(batch) {
  return (batch.proofs || []).map((one) => {
    const text = `${fill(texts.proof_written, { file: one.file, at: one.written_at })} `;
    const item = element("li", text, batch.done ? "done" : undefined);
    item.append(link(texts.proof, "/api/proof", { batch: batch.batch, kind: one.kind }));
    return item;
  });
}

function runButton(batch) {
  const run = button(texts.run_batch, async () => {
    run.disabled = true;
    if (!(await runBatch(batch))) run.disabled = false;
  });
  return run;
}

async function runBatch(batch, token = "") {
  byId("batch-asked").hidden = true;
  const started = await post("/api/batch-run", { batch, token });
  if (started) followBatch();
  return started;
}

export function followBatch() {
  byId("batch-work").hidden = false;
  follow((work) => {
    showLines(byId("batch-progress"), work.lines, texts.reading);
    byId("batch-cancel").hidden = !work.running;
    if (work.running) return;
    const problems = work.error ? [work.error] : [];
    showAsked(work.outcome || { asked: null, problems });
    showBatches();
  });
}

// Shows what a run would send, with a button to confirm it.
function showAsked({ batch, asked: request, problems }) {
  const shown = byId("batch-asked");
  const parts = problems.map((error) => element("p", errorText(error), "problem"));
  if (request) {
    const table = element("table");
    table.append(...request.steps.map((one) => tableLine([one.step, fill(texts.step_rows, one)])));
    parts.push(environmentLine(request), table);
    if (request.failed) parts.push(element("p", fill(texts.left_out, { n: request.failed })));
    const text = fill(texts.send_rows, { n: request.writes });
    parts.push(...confirmParts(request, text, (token) => runBatch(batch, token)));
  }
  shown.replaceChildren(...parts);
  shown.hidden = parts.length === 0;
}

export function setUpBatches() {
  whenShown("batches", showBatches);
}
