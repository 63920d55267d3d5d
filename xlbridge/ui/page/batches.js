// Batches: their steps with the workbooks to correct, runs, closing proofs.

import { button, byId, call, element, errorText, fill, follow, link, post, replaceChoices, reportTable, show, showLines, startRequest, texts, whenShown } from "./core.js";
import { showKnown } from "./begin.js";
import { openWorkbook } from "./jobs.js";
import { confirmParts, environmentLine } from "./send.js";

let opened = null; // batch whose steps are shown

async function showBatches() {
  const isNewest = startRequest("batches");
  const answer = await call("/api/batches");
  if (answer === null || !isNewest()) return;
  if (opened === null && answer.batches.length) opened = answer.batches[0].batch;
  const shown = answer.batches.map(batchPart);
  byId("batch-list").replaceChildren(...(shown.length ? shown : [element("p", texts.no_batches)]));
}

function batchPart(batch) {
  const part = element("details");
  part.open = batch.batch === opened;
  part.addEventListener("toggle", () => {
    if (part.open) opened = batch.batch;
  });
  part.append(element("summary", `${batch.batch} · ${batch.created_at}`));
  if (batch.error) {
    part.append(element("p", errorText(batch.error), "problem"));
    return part;
  }
  const addition = (at) => (batch.steps[at]?.units ?? []).flatMap((unit) => toCorrect(batch, batch.steps[at], unit));
  part.append(element("p", batch.verdict), reportTable(batch.table, { addition }), ...proofParts(batch));
  if (!batch.done) part.append(runButton(batch.batch));
  return part;
}

// The button that opens a workbook with errors or rejected rows, and the file of these; the table names
// the errors.
function toCorrect(batch, step, unit) {
  const target = { batch: batch.batch, step: step.step, unit: unit.name };
  if (unit.state === "invalid") return [button(fill(texts.correct_unit, { n: unit.errors }), () => openUnit(target))];
  if (!unit.rows.rejected || !unit.jobs.length) return [];
  const job = unit.jobs.at(-1);
  const file = link(texts.rejects, "/api/rejects", { job }, "download-rejects");
  return [button(texts.to_refused, () => openWorkbook(job)), " ", file];
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
    const item = element("p", text, batch.done ? "done" : undefined);
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
    const remarks = request.remarks.map((text) => element("p", text, "cut"));
    parts.push(environmentLine(request), reportTable(request.table), ...remarks);
    const text = fill(texts.send_rows, { n: request.writes });
    parts.push(...confirmParts(request, text, (token) => runBatch(batch, token)));
  }
  shown.replaceChildren(...parts);
  shown.hidden = parts.length === 0;
}

export function setUpBatches() {
  whenShown("batches", showBatches);
}
