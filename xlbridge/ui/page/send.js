// Send: the plan, the running upload, its outcome.

import { button, byId, callSheet, element, figure, fill, follow, input, isFocusLost, link, post, reportTable, resetStops, settled, show, showLines, showShare, showUntil, startBy, startRequest, state, texts, whenShown } from "./core.js";
import { changeView, refresh, showPart, showWrongRows } from "./correct.js";
import { totalsParts } from "./totals.js";

const ACTIONS = ["create", "update", "delete", "unchanged", "held", "unread", "aside"];
const actionName = (name) => texts[name === "update" ? "update_action" : name];
const options = () => [...byId("plan-form").querySelectorAll("input")];
const chosen = (one) => (one.type === "checkbox" ? one.checked : one.value.trim() || null);
const sendOptions = () => Object.fromEntries(options().map((one) => [one.name, chosen(one)]));

function showChoices() {
  const isChangeable = state.sheet?.changeable ?? false; // the interface changes records of this kind
  byId("update-choice").hidden = !isChangeable;
  if (!isChangeable) byId("update").checked = false;
  byId("plan-form").hidden = !state.sheet; // work without a sheet is shown here, too
  const left = byId("errors-left");
  const isSendable = state.sheet?.sendable || byId("good-rows").checked; // then rows with errors stay here
  const wrong = (one) => one.refused + (isSendable ? 0 : one.errors);
  const parts = state.sheet ? state.sheet.parts.filter(wrong) : [];
  left.hidden = !parts.length;
  if (!parts.length) return;
  const text = fill(texts.has_errors, { n: parts.reduce((sum, one) => sum + wrong(one), 0) });
  left.replaceChildren(`${text} `, button(texts.in_grid, () => showRefused(parts[0].sheet)));
}

// Plans the sheet once all edits are done; the next edit drops the plan.
export async function plan() {
  const isNewest = startRequest("plan");
  const wanted = sendOptions();
  byId("plan").disabled = true;
  byId("outcome").hidden = true;
  byId("sending").hidden = true;
  const shown = byId("plan-shown");
  shown.hidden = true;
  byId("planning").hidden = false;
  resetStops();
  await settled();
  if (!isNewest()) return;
  const showBeside = (error) => error.in_grid; // the form says how many errors there are, with a way to them
  const planned = await showUntil(callSheet("/api/plan", { content: wanted, showBeside }), "/api/work", (work) => {
    if (work.running && work.work === "plan") showShare(byId("plan-share"), work);
  });
  showShare(byId("plan-share"));
  if (!isNewest()) return;
  byId("planning").hidden = true;
  byId("plan").disabled = false;
  shown.hidden = planned === null;
  if (planned === null) {
    await refresh(); // names without a record are marked in the grid
    showChoices();
    return;
  }
  shown.replaceChildren(...planParts(planned, wanted));
  const send = shown.querySelector("[data-testid=send]");
  if (send && !byId("send").hidden) send.focus();
}

export function dropPlan() {
  startRequest("plan");
  byId("planning").hidden = true;
  byId("plan").disabled = false;
  byId("plan-shown").hidden = true;
  showChoices();
}

// Resets options that were chosen for another sheet.
export function forgetOptions() {
  for (const one of options()) one[one.type === "checkbox" ? "checked" : "value"] = "";
}

function planParts(planned, wanted) {
  const figures = element("ul", undefined, "figures");
  for (const name of ACTIONS.filter((one) => planned.counts[one])) {
    const item = figureItem(name, planned.counts[name], actionName(name));
    if (!["create", "unread", "aside"].includes(name)) {
      item.append(button(texts.in_grid, () => showInGrid(`plan:${name}`)));
    }
    figures.append(item);
  }
  const again = planned.retry_of ? [element("p", fill(texts.retry_of, { job: planned.retry_of }))] : [];
  const unread = planned.unread ? [element("p", planned.unread, "cut")] : [];
  const addition = (at) => groupButtons(planned.groups[at], wanted);
  const reasons = planned.table.lines.length ? [reportTable(planned.table, { addition }, "stacked")] : [];
  const parts = [environmentLine(planned), ...again, figures, ...unread];
  reasons.push(...totalsParts(planned.totals));
  const nothing = planned.counts.held ? texts.nothing_but_held : texts.nothing_to_send;
  if (planned.writes === 0) return [...parts, element("p", nothing), ...reasons];
  const text = fill(texts.send_rows, { n: planned.writes });
  const begin = (token, send) => startSending(token, send, wanted);
  return [...parts, ...confirmParts(planned, text, begin), ...reasons];
}

// Rows with one reason: shows them in the grid, and takes the option that decides about all of them.
function groupButtons({ view, count, option }, planned) {
  const parts = [button(texts.in_grid, () => showInGrid(view))];
  if (option && !planned[option]) {
    const decide = button(fill(texts[`all_${option}`], { n: count }), () => {
      const control = options().find((one) => one.name === option);
      if (byId("more-choices").contains(control)) byId("more-choices").open = true;
      if (control.type === "text") return control.focus();
      control.checked = true;
      plan();
    });
    parts.push(" ", decide);
  }
  const all = element("div", undefined, "decide");
  all.append(...parts);
  return [all];
}

export function figureItem(action, count, name) {
  const item = element("li");
  item.dataset.action = action;
  item.append(element("b", figure(count)), name);
  return item;
}

export function environmentLine(planned) {
  // An environment without a name is called by its address.
  const names = targetsOf(planned).map((one) => [...new Set([one.profile, one.base_url])].join(" ")).join(", ");
  const where = element("p", `${texts.environment}: ${names} `);
  const production = isForProduction(planned);
  const kind = production ? "production" : "practice";
  where.append(element("span", production ? texts.production : texts.no_production, kind));
  for (const one of targetsOf(planned).filter((one) => one.quirks)) {
    where.append(element("small", ` ${texts.quirks}: ${one.quirks}`));
  }
  return where;
}

// A batch has several targets.
const targetsOf = (planned) => planned.targets ?? [planned.target];
const isForProduction = (planned) => targetsOf(planned).some((one) => one.production);

// The button that starts the work; for production the plan's token has to be typed.
export function confirmParts(planned, text, begin) {
  const token = planned.token || planned.confirm;
  const send = button(text, () => begin(token, send), "main");
  send.dataset.testid = "send";
  if (!isForProduction(planned)) return [send];
  const typed = input("text", { ariaLabel: fill(texts.type_token, { token }) });
  send.disabled = true;
  typed.addEventListener("input", () => {
    send.disabled = typed.value.trim() !== token;
  });
  const ask = element("p", `${fill(texts.type_token, { token })} `);
  ask.append(typed);
  return [ask, send];
}

async function showInGrid(view) {
  await showPart(state.sheet.sheet);
  show("mend");
  await changeView(view);
}

async function startSending(token, send, wanted) {
  byId("outcome").hidden = true;
  if (await startBy(send, () => callSheet("/api/send", { content: { token, options: wanted } }))) followSending();
}

// Starts confirmed work on records, and shows its progress.
export async function startConfirmed(path, content, send) {
  if (!(await startBy(send, () => post(path, content)))) return;
  show("send");
  byId("plan-form").hidden = true; // the work is not about the open sheet
  byId("outcome").hidden = true;
  followSending();
}

export function followSending() {
  byId("sending").hidden = false;
  byId("sending").scrollIntoView({ block: "nearest" });
  showLines(byId("progress"), { lines: [] }, texts.sending);
  follow("sending", showState);
}

function showState(work) {
  showLines(byId("progress"), work, texts.sending);
  if (work.running) return;
  byId("plan-shown").hidden = true;
  byId("process-shown").hidden = true;
  if (work.outcome) showOutcome(work.outcome);
}

function showOutcome(outcome) {
  const shown = byId("outcome");
  const [refused] = (state.sheet && outcome.in_grid) || [];
  const isPartial = outcome.state === "done" && (outcome.rows.rejected || outcome.rows.left);
  shown.dataset.state = isPartial ? "partial" : outcome.state;
  shown.hidden = false;
  const parts = [element("h2", outcome.headline)];
  if (refused) {
    parts.push(element("p", texts.back_to_grid));
    parts.push(button(texts.to_refused, () => showRefused(refused), "main"), " ");
  }
  const lines = outcome.lines.map((line) => element("p", line));
  shown.replaceChildren(...parts, ...lines, ...outcomeLinks(outcome), ...totalsParts(outcome.totals));
  shown.scrollIntoView({ block: "nearest" });
  if (isFocusLost()) shown.focus({ preventScroll: true });
  if (state.sheet && !byId("plan-form").hidden) refresh().then(showChoices);
}

async function showRefused(sheet) {
  await showPart(sheet);
  show("mend");
  await showWrongRows();
}

export function outcomeLinks(job) {
  const found = [];
  const query = { job: job.job };
  if (job.rejects_file) found.push(link(texts.rejects, "/api/rejects", query, "download-rejects"), " ");
  if (job.evidence_file) found.push(link(texts.doubt_page, "/api/doubt", query), " ");
  if (job.plan) found.push(link(texts.status_copy, "/api/status-copy", query));
  return found;
}

export function setUpSend() {
  byId("plan").addEventListener("click", plan);
  for (const one of options()) one.addEventListener("change", dropPlan);
  whenShown("send", showChoices);
}
