// Beginning of a batch: a folder of this computer, its plan, or a new plan for its workbooks.

import { button, byId, call, element, fill, input, labelled, newest, post, startRequest, tableLine, tableRows, texts } from "./core.js";

let start = null; // starts work on a batch
let folder = ""; // that of the workbooks listed for a new plan

async function openFolder(path = byId("folder-path").value) {
  byId("folder-path").value = path;
  byId("new-plan").hidden = true;
  const answer = await newest("folder", call("/api/folder", { query: { folder: path } }));
  if (answer === null) return;
  // What was typed meanwhile stays.
  if (byId("folder-path").value === path) byId("folder-path").value = answer.path;
  const inside = element("div", undefined, "folders");
  const up = answer.parent === null ? [] : [{ name: texts.folder_above, path: answer.parent }];
  inside.append(...[...up, ...answer.folders].map((one) => button(one.name, () => openFolder(one.path))));
  const plans = answer.plans.map((plan) => planPart(plan, answer.month));
  const none = answer.plans.length || answer.workbooks ? [] : [element("p", texts.folder_empty, "quiet")];
  const count = fill(texts.folder_workbooks, { n: answer.workbooks });
  const make = answer.workbooks ? [element("p", count), button(texts.plan_from_folder, () => findWorkbooks(answer))] : [];
  byId("folder-shown").replaceChildren(inside, ...plans, ...make, ...none);
}

function planPart(plan, current) {
  const part = element("p", undefined, "plan-line");
  const month = input("month", { value: current });
  const parts = [element("strong", plan.name), `${plan.file} · ${texts.plan_steps}: ${plan.steps}`];
  if (plan.month) parts.push(labelled(texts.month, month));
  const begin = button(texts.begin_batch, () => start("/api/begin-batch", { plan: plan.path, month: plan.month ? month.value : null }), "main");
  part.append(...parts.flatMap((one) => [one, " "]), begin);
  return part;
}

async function findWorkbooks({ path, month }) {
  const isNewest = startRequest("workbooks");
  const form = byId("new-plan");
  form.hidden = true;
  byId("reading-folder").textContent = texts.reading;
  const answer = await post("/api/workbooks", { folder: path });
  if (!isNewest()) return;
  byId("reading-folder").textContent = "";
  if (answer === null) return;
  folder = path;
  const lines = answer.workbooks.map((book) => tableLine(workbookCells(book)));
  byId("new-workbooks").replaceChildren(...tableRows(["", texts.file, texts.resource, ""], lines));
  form.elements.plan.value = answer.name;
  form.elements.month.value = month;
  form.hidden = false;
}

function workbookCells(book) {
  const name = book.sheet ? `${book.file} · ${book.sheet}` : book.file;
  const isFit = !book.problem;
  const box = input("checkbox", { name: "workbook", value: book.key, checked: isFit, disabled: !isFit, ariaLabel: name });
  return [[box], name, book.title ?? book.problem, isFit ? fill(texts.workbook_counts, book) : ""];
}

// Writes the plan of the chosen workbooks, and begins its batch.
async function makePlan(event) {
  event.preventDefault();
  const chosen = new FormData(byId("new-plan"));
  const month = chosen.get("month");
  const content = { folder, name: chosen.get("plan"), month, workbooks: chosen.getAll("workbook") };
  const made = await post("/api/new-plan", content);
  if (made === null) return;
  await openFolder(folder);
  await start("/api/begin-batch", { plan: made.plan, month });
}

export function setUpMonth(startBatch) {
  start = startBatch;
  byId("begin-batch").addEventListener("toggle", () => {
    if (byId("begin-batch").open && !byId("folder-shown").childElementCount) openFolder();
  });
  byId("new-plan").addEventListener("submit", makePlan);
  byId("folder-open").addEventListener("click", () => openFolder());
  byId("folder-path").addEventListener("keydown", (event) => {
    if (event.key === "Enter") openFolder();
  });
}
