// Uploads: the list of jobs, details of one, its undo, and the decision about a doubt.

import { button, byId, call, element, fill, newest, planBy, post, reportLines, showFieldProblem, tableLine, texts, whenShown } from "./core.js";
import { openInGrid } from "./begin.js";
import { showWrongRows } from "./correct.js";
import { confirmParts, environmentLine, figureItem, outcomeLinks, startConfirmed } from "./send.js";
import { totalsParts } from "./totals.js";

async function showJobs() {
  byId("job-shown").hidden = true;
  const answer = await newest("jobs", call("/api/jobs"));
  if (answer === null) return;
  const lines = reportLines(answer.table, { last: (at) => jobButtons(answer.jobs[at]) });
  byId("job-table").replaceChildren(...(answer.jobs.length ? lines : [element("caption", texts.no_jobs)]));
}

function jobButtons(job) {
  const parts = [button(texts.details, () => showJob(job.job))];
  if (!job.final && job.sent) parts.push(" ", button(texts.resume, ({ target }) => startConfirmed("/api/resume", { job: job.job }, target)));
  return parts;
}

let shown = null; // job whose details are shown

async function showJob(id) {
  const card = byId("job-shown");
  card.hidden = true;
  const job = await newest("job", call("/api/job", { query: { job: id } }));
  if (job === null) return;
  shown = job.job;
  const changes = job.history.filter(([, state], place) => state !== job.history[place - 1]?.[1]);
  const lines = job.lines.map((line) => element("p", line));
  const links = job.is_upload ? outcomeLinks(job) : [];
  const { rejected, held } = job.rows;
  const open = rejected ? texts.to_refused : texts.to_held;
  if (job.is_upload && (rejected || held)) links.push(" ", button(open, () => openWorkbook(job.job)));
  card.querySelector("h2").textContent = `${texts.upload} ${job.job}`;
  byId("job-facts").replaceChildren(...lines, ...links);
  byId("undo-job").hidden = !job.can_undo;
  byId("undo-job").disabled = false;
  byId("undo-plan").hidden = true;
  byId("job-history").replaceChildren(...changes.map((one) => tableLine(one)));
  byId("doubt").hidden = !job.doubtful;
  byId("doubt-reason").value = "";
  byId("job-totals").replaceChildren();
  card.hidden = false;
  card.focus();
  if (!job.is_upload || !job.plan) return;
  const answer = await newest("job", call("/api/job-totals", { query: { job: id } }));
  if (answer !== null) byId("job-totals").append(...totalsParts(answer.totals));
}

// Plans the undo of the shown job.
async function planUndo() {
  const job = shown;
  const planned = byId("undo-plan");
  const plan = await planBy(byId("undo-job"), planned, "undo", () => post("/api/undo-plan", { job }));
  if (plan === null) return;
  const figures = element("ul", undefined, "figures");
  figures.append(figureItem("undo", plan.undo, texts.to_undo), figureItem("left", plan.left, texts.not_undone));
  const begin = (token, send) => startConfirmed("/api/undo", { job, token }, send);
  const confirm = plan.undo
    ? confirmParts(plan, fill(texts.undo_run, { n: plan.undo }), begin)
    : [element("p", texts.nothing_to_undo)];
  const more = plan.more ? [fill(texts.more_undone, { n: plan.more })] : [];
  const reasons = [...plan.restored, ...more, ...plan.reasons].map((text) => element("p", text));
  if (job !== shown) return;
  planned.replaceChildren(environmentLine(plan), figures, ...reasons, ...confirm);
  planned.querySelector("[data-testid=send]")?.focus();
}

// Opens the job's workbook with the refused rows marked, even if it was sent from the command line.
export async function openWorkbook(job) {
  if (await openInGrid("/api/job-workbook", { job })) showWrongRows();
}

// Resolves the shown job, in doubt, by what the user saw in the system; the reason is recorded.
async function resolve(event) {
  const [job, reason] = [shown, byId("doubt-reason")];
  if (!reason.value.trim()) {
    showFieldProblem(reason, texts.fill_in);
    reason.focus();
  } else if (await post("/api/resolve", { job, as: event.target.value, reason: reason.value })) {
    await showJobs();
    await showJob(job);
  }
}

export function setUpJobs() {
  byId("undo-job").addEventListener("click", planUndo);
  for (const one of byId("doubt").querySelectorAll("button")) one.addEventListener("click", resolve);
  whenShown("jobs", showJobs);
}
