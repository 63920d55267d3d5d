// Other screens: uploads, exports, processing, profiles.

import { button, byId, call, element, figure, fill, follow, labelled, link, listings, option, post, replaceChoices, show, showProblem, startRequest, tableLine, texts, whenShown } from "./core.js";
import { showKnown } from "./begin.js";
import { showWrongRows } from "./correct.js";
import { confirmParts, environmentLine, followSending, outcomeLinks } from "./send.js";

// Uploads

async function showJobs() {
  const isNewest = startRequest("jobs");
  byId("job-shown").hidden = true;
  const answer = await call("/api/jobs");
  if (answer === null || !isNewest()) return;
  const several = new Set(answer.jobs.map((job) => job.profile)).size > 1;
  const titles = [texts.job, texts.when, texts.state, texts.resource, texts.rows_read, texts.accepted];
  titles.push(texts.rejected, texts.rows_unchanged, texts.rows_held, ...(several ? [texts.environment] : []));
  titles.push(texts.file, "");
  const lines = answer.jobs.map((job) => {
    const values = [job.job, job.created_at, job.state_name, job.resource];
    const counts = [job.rows.read, job.rows.accepted ?? job.rows.processed, job.rows.rejected];
    counts.push(job.rows.unchanged ?? job.rows.already, job.rows.held);
    values.push(...counts.map((count) => figure(count) ?? ""), ...(several ? [job.profile] : []));
    return tableLine([...values, job.file, jobButtons(job)]);
  });
  const empty = lines.length ? [] : [tableLine([texts.no_jobs])];
  byId("job-table").replaceChildren(tableLine(titles, "th"), ...lines, ...empty);
}

function jobButtons(job) {
  const parts = [button(texts.details, () => showJob(job.job))];
  if (!job.final && job.sent) parts.push(" ", resumeButton(job.job));
  return parts;
}

function resumeButton(job) {
  return button(texts.resume, async () => {
    const started = await post("/api/resume", { job });
    if (!started) return;
    show("send");
    followSending();
  });
}

async function showJob(id) {
  const isNewest = startRequest("job");
  const job = await call("/api/job", { query: { job: id } });
  if (job === null || !isNewest()) return;
  const history = element("table");
  const changes = job.history.filter((one, place) => one.state !== job.history[place - 1]?.state);
  history.append(...changes.map((one) => tableLine([one.at, one.state])));
  const lines = job.lines.map((line) => element("p", line));
  const links = job.is_upload ? outcomeLinks(job) : [];
  if (job.is_upload && job.rows.rejected) links.push(" ", button(texts.to_refused, () => openWorkbook(job.job)));
  const parts = [element("h2", job.job), ...lines, ...links, element("h3", texts.history), history];
  if (job.doubtful) parts.push(...doubtParts(job));
  const shown = byId("job-shown");
  shown.hidden = false;
  shown.replaceChildren(...parts);
  shown.focus();
}

// Opens the job's workbook with the refused rows marked, even if it was sent from the command line.
function openWorkbook(job) {
  return replaceChoices(
    () => post("/api/job-workbook", { job }),
    (answer) => {
      showKnown(answer);
      show("mend");
      showWrongRows();
    },
  );
}

// Fields to resolve a job in doubt by what the user saw in the system; the reason is recorded.
function doubtParts(job) {
  const reason = element("input");
  reason.type = "text";
  reason.size = 60;
  const settle = (seen) => async () => {
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

// Exports

function showFilters() {
  const listing = listings.find((one) => one.name === byId("listing").value);
  byId("filters").replaceChildren(...listing.filters.map(filterField));
}

function filterField(one) {
  const control = one.kind === "flag" ? element("select") : element("input");
  if (one.kind === "flag") control.append(option("", texts.no), option("1", texts.yes));
  else control.type = "text";
  control.dataset.filter = one.name;
  control.title = one.meaning;
  return labelled(one.meaning, control);
}

async function exportListing() {
  const filters = {};
  for (const one of byId("filters").querySelectorAll("[data-filter]")) {
    if (one.value) filters[one.dataset.filter] = one.value;
  }
  byId("exported").replaceChildren();
  byId("preview").replaceChildren();
  byId("export").disabled = true;
  const started = await post("/api/export", { listing: byId("listing").value, filters });
  if (started) followExport();
  else byId("export").disabled = false;
}

export function followExport() {
  byId("export-progress").textContent = texts.reading_records;
  follow(showExport);
}

function showExport(work) {
  byId("export").disabled = work.running;
  byId("export-cancel").hidden = !work.running;
  byId("export-progress").textContent = work.running ? work.lines.at(-1) || texts.reading_records : "";
  if (work.running || !work.outcome) return;
  const { listing, manifest, remarks, preview } = work.outcome;
  const whole = manifest.complete ? texts.complete : texts.incomplete;
  const parts = [element("p", `${fill(texts.export_done, { n: manifest.records })} ${whole}`)];
  parts.push(...remarks.map((text) => element("p", text)));
  parts.push(link(texts.download_export, "/api/exported", { listing }));
  byId("exported").replaceChildren(...parts);
  const [head, ...rows] = preview;
  byId("preview").replaceChildren(tableLine(head, "th"), ...rows.map((row) => tableLine(row)));
}

// Processing

async function planProcess() {
  const listing = byId("process-listing").value;
  const numbers = byId("process-numbers").value.split(/[\s,;]+/).filter(Boolean);
  if (!numbers.length || !numbers.every((one) => /^\d+$/.test(one))) {
    showProblem(texts.process_which);
    byId("process-numbers").focus();
    return;
  }
  showProblem("");
  const shown = byId("process-shown");
  const isNewest = startRequest("process");
  byId("process-plan").disabled = true;
  shown.hidden = false;
  shown.replaceChildren(texts.planning);
  const planned = await post("/api/process-plan", { listing, numbers });
  if (!isNewest()) return;
  byId("process-plan").disabled = false;
  shown.hidden = planned === null;
  if (planned === null) return;
  const table = element("table");
  const line = (one) => tableLine([one.id, texts[`record_${one.outcome}`], one.message ?? ""]);
  const titles = tableLine([texts.record, texts.action, texts.reason], "th");
  table.append(titles, ...planned.records.map(line));
  const begin = async (token, send) => {
    send.disabled = true;
    const started = await post("/api/process", { listing, numbers, token });
    if (!started) {
      send.disabled = false;
      return;
    }
    show("send");
    followSending();
  };
  const count = planned.rows.unknown; // records to be sent have no outcome yet
  const text = fill(texts.process_run, { n: count });
  const parts = count ? confirmParts(planned, text, begin) : [element("p", texts.nothing_to_send)];
  shown.replaceChildren(environmentLine(planned), table, ...parts);
}

// Profiles

async function showProfiles() {
  const isNewest = startRequest("profiles");
  const answer = await call("/api/profiles");
  if (answer === null || !isNewest()) return;
  const titles = tableLine([texts.environment, texts.address, texts.user, "", ""], "th");
  byId("profile-status").textContent = "";
  const lines = answer.profiles.map((one) => {
    const kind = one.production ? texts.production : one.practice ? texts.practice : "";
    const mark = element("span", kind, one.production ? "production" : "practice");
    const status = [kind ? mark : "", one.chosen ? ` ${texts.chosen}` : ""];
    return tableLine([one.name, one.address, one.email, status, profileButtons(one)]);
  });
  byId("profile-table").replaceChildren(titles, ...lines);
}

function profileButtons(one) {
  const profile = { name: one.name };
  const parts = [];
  if (!one.chosen) parts.push(button(texts.use_profile, () => useProfile(profile)), " ");
  if (!one.practice) parts.push(button(texts.test_login, () => testLogin(profile)), " ");
  if (one.kept && !one.production) parts.push(button(texts.mark_production, () => markProduction(profile)));
  return parts;
}

async function useProfile(profile) {
  if (await post("/api/use-profile", profile)) window.location.reload();
}

async function testLogin(profile) {
  byId("profile-status").textContent = texts.reading;
  const answer = await post("/api/login", profile);
  byId("profile-status").textContent = answer === null ? "" : answer.message;
}

async function markProduction(profile) {
  if (await post("/api/production", profile)) window.location.reload();
}

export function setUpPanels() {
  byId("listing").addEventListener("change", showFilters);
  showFilters();
  byId("export").addEventListener("click", exportListing);
  byId("process-plan").addEventListener("click", planProcess);
  whenShown("jobs", showJobs);
  whenShown("profiles", showProfiles);
}
