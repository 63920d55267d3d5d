// Other screens: exports, processing, profiles.

import { ask, besideFields, button, byId, call, checkFields, element, fill, followLine, link, newest, planBy, post, reportTable, showFieldProblem, showProblem, startBy, tableLine, tableRows, texts, whenShown } from "./core.js";
import { confirmParts, environmentLine, startConfirmed } from "./send.js";
import { totalsParts } from "./totals.js";

// Exports

function showFilters() {
  const [listing] = byId("listing").selectedOptions;
  const filters = document.querySelector(`template[data-listing="${listing.value}"]`);
  byId("filters").replaceChildren(filters.content.cloneNode(true));
  const sheet = byId("format").querySelector("[value=import]");
  sheet.disabled = !("importable" in listing.dataset);
  if (sheet.disabled && sheet.selected) byId("format").value = "xlsx";
}

async function exportListing() {
  const filters = {};
  for (const one of byId("filters").querySelectorAll("[data-filter]")) {
    if (one.value) filters[one.dataset.filter] = one.value;
  }
  byId("exported").replaceChildren();
  byId("export-totals").replaceChildren();
  byId("preview").replaceChildren();
  const content = { listing: byId("listing").value, filters, format: byId("format").value };
  const showBeside = besideFields((name) => byId("filters").querySelector(`[data-filter="${CSS.escape(name)}"]`));
  const start = () => post("/api/export", content, { showBeside });
  if (await startBy(byId("export"), start)) followExport();
}

export const followExport = () => followLine("export", showExport);

function showExport({ listing, title, lines, below, preview, amounts, totals }) {
  const parts = [lines.join(" · "), ...below].map((text) => element("p", text));
  parts.unshift(element("h2", title));
  parts.push(link(texts.download_export, "/api/exported", { listing }));
  byId("exported").replaceChildren(...parts);
  byId("export-totals").replaceChildren(...totalsParts(totals));
  const [head, ...rows] = preview;
  const shown = [tableLine(head, "th"), ...rows.map((row) => tableLine(row))];
  for (const row of shown) amounts.forEach((isAmount, at) => row.children[at].classList.toggle("number", isAmount));
  byId("preview").replaceChildren(...shown);
}

// Processing

async function planProcess() {
  const listing = byId("process-listing").value;
  const numbers = byId("process-numbers").value.split(/[\s,;]+/).filter(Boolean);
  if (!numbers.length || !numbers.every((one) => /^\d+$/.test(one))) {
    showFieldProblem(byId("process-numbers"), texts.process_which);
    byId("process-numbers").focus();
    return;
  }
  showProblem("");
  const shown = byId("process-shown");
  const planned = await planBy(byId("process-plan"), shown, "process", () => post("/api/process-plan", { listing, numbers }));
  if (planned === null) return;
  const begin = (token, send) => startConfirmed("/api/process", { listing, numbers, token }, send);
  const count = planned.rows.unknown; // records to be sent have no outcome yet
  const text = fill(texts.process_run, { n: count });
  const parts = count ? confirmParts(planned, text, begin) : [element("p", texts.nothing_to_process)];
  const warnings = planned.warnings.map((text) => element("p", text, "cut"));
  shown.replaceChildren(environmentLine(planned), reportTable(planned.table), ...warnings, ...parts);
}

// Profiles

async function showProfiles() {
  const answer = await newest("profiles", call("/api/profiles"));
  if (answer === null) return;
  byId("profile-status").textContent = "";
  const lines = answer.profiles.map((one) => {
    const kind = one.production ? texts.production : one.practice ? texts.practice : "";
    const mark = element("span", kind, one.production ? "production" : "practice");
    const status = [kind ? mark : "", one.machine ? ` ${texts.of_it}` : "", one.chosen ? ` ${texts.chosen}` : ""];
    const address = one.practice ? texts.this_computer : one.base_url;
    return tableLine([one.profile, address, one.email, status, profileButtons(one)]);
  });
  byId("profile-table").replaceChildren(...tableRows([texts.environment, texts.address, texts.user, "", ""], lines));
}

function profileButtons(one) {
  const profile = { name: one.profile };
  const parts = [];
  if (!one.chosen) parts.push(button(texts.use_profile, () => useProfile(profile)), " ");
  if (!one.practice) parts.push(button(texts.test_login, () => testLogin(profile)), " ");
  if (one.kept) parts.push(button(markText(one), () => askMark(one)));
  return parts;
}

// Adds an environment once its credentials are accepted. The password leaves the form at once.
async function addProfile(event) {
  event.preventDefault();
  const form = byId("profile-form");
  if (!checkFields(form.querySelectorAll("input, select"))) return;
  const content = Object.fromEntries(new FormData(form));
  form.elements.password.value = "";
  byId("profile-status").textContent = texts.testing;
  const showBeside = besideFields((name) => form.elements[name]);
  const answer = await post("/api/new-profile", { ...content, production: content.production === "yes" }, { showBeside });
  if (answer !== null) {
    form.reset();
    byId("new-profile").open = false;
    await showProfiles();
  }
  byId("profile-status").textContent = answer === null ? "" : answer.message;
}

async function useProfile(profile) {
  if (await post("/api/use-profile", profile)) window.location.reload();
}

async function testLogin(profile) {
  byId("profile-status").textContent = texts.testing;
  const answer = await post("/api/login", profile);
  byId("profile-status").textContent = answer === null ? "" : answer.message;
}

const markText = (one, name = "") => texts[`${one.production ? "unmark" : "mark"}_production${name}`];

// Says what the production mark, or its removal, means before it is changed.
function askMark(one) {
  byId("mark-title").textContent = byId("mark-do").textContent = markText(one);
  byId("mark-what").textContent = fill(markText(one, "_what"), { name: one.profile, address: one.base_url });
  ask(byId("mark"), async () => {
    if (await post("/api/production", { name: one.profile, production: !one.production })) window.location.reload();
  });
}

export function setUpPanels() {
  byId("listing").addEventListener("change", showFilters);
  showFilters();
  byId("export").addEventListener("click", exportListing);
  byId("process-plan").addEventListener("click", planProcess);
  byId("profile-form").addEventListener("submit", addProfile);
  whenShown("profiles", showProfiles);
}
