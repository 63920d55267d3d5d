// Uploads: the list of jobs, details of one, its undo, and the decision about a doubt.

import { button, byId, call, element, fill, input, labelled, planBy, post, reportLines, showFieldProblem, startRequest, tableLine, texts, whenShown } from "./core.js";
import { openInGrid } from "./begin.js";
import { showWrongRows } from "./correct.js";
import { confirmParts, environmentLine, figureItem, outcomeLinks, startConfirmed } from "./send.js";
import { totalsParts } from "./totals.js";

async function showJobs() {
  const isNewest = startRequest("jobs");
  byId("job-shown").hidden = true;
  const answer = await call("/api/jobs");
  if (answer === null || !isNewest()) return;
  const lines = reportLines(answer.table, { last: (at) => jobButtons(answer.jobs[at]) });
  byId("job-table").replaceChildren(...(answer.jobs.length ? lines : [element("caption", texts.no_jobs)]));
}

function jobButtons(job) {
  const parts = [button(texts.details, () => showJob(job.job))];
  if (!job.final && job.sent) parts.push(" ", button(texts.resume, ({ target }) => startConfirmed("/api/resume", { job: job.job }, target)));
  return parts;
}

async function showJob(id) {
  const isNewest = startRequest("job");
  const shown = byId("job-shown");
  shown.hidden = true;
  const job = await call("/api/job", { query: { job: id } });
  if (job === null || !isNewest()) return;
  const history = element("table");
  const changes = job.history.filter(([, state], place) => state !== job.history[place - 1]?.[1]);
  history.append(...changes.map((one) => tableLine(one)));
  const lines = job.lines.map((line) => element("p", line));
  const links = job.is_upload ? outcomeLinks(job) : [];
  const { rejected, held } = job.rows;
  const open = rejected ? texts.to_refused : texts.to_held;
  if (job.is_upload && (rejected || held)) links.push(" ", button(open, () => openWorkbook(job.job)));
  const undo = job.can_undo ? undoParts(job.job) : [];
  const parts = [element("h2", `${texts.upload} ${job.job}`), ...lines, ...links, ...undo, element("h3", texts.history), history];
  if (job.doubtful) parts.push(...doubtParts(job));
  shown.hidden = false;
  shown.replaceChildren(...parts);
  shown.focus();
  const answer = job.is_upload && job.plan ? await call("/api/job-totals", { query: { job: id } }) : null;
  if (answer !== null && isNewest()) shown.append(...totalsParts(answer.totals));
}

// The button that plans the undo of a job, and the place of the plan.
function undoParts(job) {
  const planned = element("div");
  planned.id = "undo-plan";
  planned.setAttribute("aria-live", "polite");
  planned.hidden = true;
  const undo = button(texts.undo_upload, () => planUndo(job, undo, planned));
  return [" ", undo, planned];
}

async function planUndo(job, undo, shown) {
  const plan = await planBy(undo, shown, "undo", () => post("/api/undo-plan", { job }));
  if (plan === null) return;
  const figures = element("ul", undefined, "figures");
  figures.append(figureItem("undo", plan.undo, texts.to_undo), figureItem("left", plan.left, texts.not_undone));
  const begin = (token, send) => startConfirmed("/api/undo", { job, token }, send);
  const confirm = plan.undo
    ? confirmParts(plan, fill(texts.undo_run, { n: plan.undo }), begin)
    : [element("p", texts.nothing_to_undo)];
  const more = plan.more ? [fill(texts.more_undone, { n: plan.more })] : [];
  const reasons = [...plan.restored, ...more, ...plan.reasons].map((text) => element("p", text));
  shown.replaceChildren(environmentLine(plan), figures, ...reasons, ...confirm);
  const send = shown.querySelector("[data-testid=send]");
  if (send && shown.isConnected) send.focus();
}

// Opens the job's workbook with the refused rows marked, even if it was sent from the command line.
export async function openWorkbook(job) {
  if (await openInGrid("/api/job-workbook", { job })) showWrongRows();
}

// Fields to resolve a job in doubt by what the user saw in the system; the reason is recorded.
function doubtParts(job) {
  const reason = input("text", { size: 60 });
  const settle = (seen) => async () => {
    if (!reason.value.trim()) {
      showFieldProblem(reason, texts.fill_in);
      reason.focus();
      return;
    }
    const answer = await post("/api/resolve", { job: job.job, as: seen, reason: reason.value });
    if (answer === null) return;
    await showJobs();
    await showJob(job.job);
  };
  return [
    element("p", texts.doubt),
    labelled(texts.doubt_reason, reason),
    button(texts.doubt_applied, settle("applied")),
    " ",
    button(texts.doubt_not_applied, settle("not-applied")),
  ];
}

export function setUpJobs() {
  whenShown("jobs", showJobs);
}
