// Batches: their steps with the workbooks to correct, runs, control totals, closing proofs.

import { button, byId, call, callSheet, element, errorText, fill, follow, link, newest, post, reportTable, settled, show, showLines, startBy, texts, whenShown } from "./core.js";
import { openInGrid } from "./begin.js";
import { openWorkbook } from "./jobs.js";
import { setUpMonth } from "./month.js";
import { confirmParts, environmentLine } from "./send.js";
import { totalsParts } from "./totals.js";

let opened = null; // batch whose steps are shown

async function showBatches() {
  const answer = await newest("batches", call("/api/batches"));
  if (answer === null) return;
  if (opened === null && answer.batches.length) opened = answer.batches[0].batch;
  if (!answer.batches.length && byId("batch-work").hidden) byId("begin-batch").open = true;
  const shown = answer.batches.map(batchPart);
  byId("batch-list").replaceChildren(...(shown.length ? shown : [element("p", texts.no_batches)]));
}

function batchPart(batch) {
  const part = element("details");
  part.open = batch.batch === opened;
  part.append(element("summary", `${batch.batch} · ${batch.created_at}`));
  if (batch.error) {
    part.append(element("p", errorText(batch.error), "problem"));
    return part;
  }
  const addition = (at) => (batch.steps[at]?.units ?? []).flatMap((unit) => toCorrect(batch, batch.steps[at], unit));
  const steps = reportTable(batch.table, { addition }, "stacked");
  part.append(element("p", batch.verdict), steps, ...proofParts(batch));
  const buttons = [];
  const prove = () => startBatch("/api/batch-proof", { batch: batch.batch });
  if (!batch.done) buttons.push(button(texts.run_batch, ({ target }) => startBy(target, () => runBatch(batch.batch)), "main"), " ");
  if (batch.steps.some((step) => step.units.some((unit) => unit.jobs.length))) buttons.push(button(texts.prove_batch, ({ target }) => startBy(target, prove)));
  const totals = element("div");
  part.append(...buttons, totals);
  // The rows of a month take a while to be read.
  part.addEventListener("toggle", async () => {
    if (!part.open) return;
    opened = batch.batch;
    if (totals.childElementCount) return;
    const answer = await call("/api/batch-totals", { query: { batch: batch.batch }, silent: true });
    if (answer !== null) totals.replaceChildren(...sections(answer.totals));
  });
  return part;
}

// Tables of one section stand together: those of the month in view, those of a step on request.
function sections(tables) {
  const bySection = Map.groupBy(tables, (one) => one.section);
  return [...bySection].map(([name, own], at) => {
    const part = element("details");
    part.open = at === 0;
    part.append(element("summary", name), ...totalsParts(own));
    return part;
  });
}

// The button that opens a workbook with errors or rejected rows, and the file of these; the table names
// the errors.
function toCorrect(batch, step, unit) {
  const target = { batch: batch.batch, step: step.step, unit: unit.name };
  // A copy is opened: the plan's own file is only written when it is replaced.
  const correct = () => openInGrid("/api/batch-unit", target);
  if (unit.state === "invalid") return [button(fill(texts.correct_unit, { n: unit.errors }), correct)];
  const { rejected, held } = unit.rows;
  if (!(rejected || held) || !unit.jobs.length) return [];
  const job = unit.jobs.at(-1);
  const file = link(texts.rejects, "/api/rejects", { job }, "download-rejects");
  return [button(rejected ? texts.to_refused : texts.to_held, () => openWorkbook(job)), " ", file];
}

async function replaceUnit() {
  await settled();
  const answer = await callSheet("/api/replace-unit", { content: {} });
  if (answer === null) return;
  show("batches");
  byId("batch-asked").hidden = true; // it asked about the earlier workbook
  showMessage(answer.message);
}

function showMessage(text) {
  byId("batch-message").textContent = text;
  byId("batch-message").hidden = !text;
}

function proofParts(batch) {
  const lines = new Map();
  for (const { name, kind, file, written_at: at } of batch.proofs || []) {
    if (!lines.has(name)) lines.set(name, element("p", `${fill(texts.proof_written, { name, at })} `, batch.done ? "done" : undefined));
    lines.get(name).append(link(texts[`proof_${kind}`], "/api/proof", { batch: batch.batch, file }), " ");
  }
  return [...lines.values()];
}

const runBatch = (batch, token = "") => startBatch("/api/batch-run", { batch, token });

// Starts work on a batch, and follows it.
export async function startBatch(path, content) {
  byId("batch-asked").hidden = true;
  byId("begin-batch").open = false;
  showMessage("");
  const started = await post(path, content);
  if (started) followBatch();
  return started;
}

export function followBatch() {
  byId("batch-work").hidden = false;
  follow("batch", (work) => {
    showLines(byId("batch-progress"), work, texts.reading);
    if (work.running) return;
    if (work.outcome) opened = work.outcome.batch;
    const problems = work.error ? [work.error] : [];
    showAsked(work.outcome || { problems, proofs: [] });
    showBatches();
  });
}

// Shows what a run would send or process, with a button to confirm it, or what its proofs say.
function showAsked({ batch, asked: request, problems, proofs }) {
  const shown = byId("batch-asked");
  const parts = problems.map((error) => element("p", errorText(error), "problem"));
  parts.push(...proofs.flatMap((one) => [element("h2", one.title), reportTable(one)]));
  if (request) {
    const remarks = request.remarks.map((text) => element("p", text, "cut"));
    parts.push(element("h2", texts.confirm_writes), environmentLine(request), ...(request.table ? [reportTable(request.table, {}, "stacked")] : []), ...remarks);
    const text = fill(request.table ? texts.send_rows : texts.process_run, { n: request.writes });
    parts.push(...confirmParts(request, text, (token) => runBatch(batch, token)), ...sections(request.totals));
  }
  shown.replaceChildren(...parts);
  shown.hidden = parts.length === 0;
  if (request) shown.scrollIntoView({ block: "nearest" });
}

export function setUpBatches() {
  whenShown("batches", showBatches);
  byId("unit-replace").addEventListener("click", replaceUnit);
  setUpMonth(startBatch);
}
