// Beginning of a batch: a folder of this computer, its plan, or a new plan for its workbooks.

import { button, byId, call, element, fill, input, labelled, post, startRequest, tableLine, tableRows, texts } from "./core.js";

let start = null; // starts work on a batch

async function openFolder(folder = byId("folder-path").value) {
  const isNewest = startRequest("folder");
  byId("folder-path").value = folder;
  byId("new-plan").replaceChildren();
  const answer = await call("/api/folder", { query: { folder } });
  if (answer === null || !isNewest()) return;
  // What was typed meanwhile stays.
  if (byId("folder-path").value === folder) byId("folder-path").value = answer.path;
  const inside = element("div", undefined, "folders");
  const up = answer.parent === null ? [] : [{ name: texts.folder_above, path: answer.parent }];
  inside.append(...[...up, ...answer.folders].map((one) => button(one.name, () => openFolder(one.path))));
  const plans = answer.plans.map((plan) => planPart(plan, answer.month));
  const none = answer.plans.length || answer.workbooks ? [] : [element("p", texts.folder_empty, "quiet")];
  const count = fill(texts.folder_workbooks, { n: answer.workbooks });
  const make = answer.workbooks ? [element("p", count), button(texts.plan_from_folder, () => findWorkbooks(answer))] : [];
  byId("folder-shown").replaceChildren(inside, ...plans, ...make, ...none);
}

const monthField = (month) => input("month", { value: month });

function planPart(plan, current) {
  const part = element("p", undefined, "plan-line");
  const month = monthField(current);
  const parts = [element("strong", plan.name), `${plan.file} · ${texts.plan_steps}: ${plan.steps}`];
  if (plan.month) parts.push(labelled(texts.month, month));
  const begin = button(texts.begin_batch, () => start("/api/begin-batch", { plan: plan.path, month: plan.month ? month.value : null }), "main");
  part.append(...parts.flatMap((one) => [one, " "]), begin);
  return part;
}

async function findWorkbooks({ path, month }) {
  const isNewest = startRequest("workbooks");
  const shown = byId("new-plan");
  shown.replaceChildren(element("p", texts.reading));
  const answer = await post("/api/workbooks", { folder: path });
  if (!isNewest()) return;
  shown.replaceChildren();
  if (answer === null) return;
  const boxes = new Map();
  const lines = answer.workbooks.map((book) => tableLine(workbookCells(book, boxes)));
  const table = element("table", undefined, "stacked");
  table.append(...tableRows(["", texts.file, texts.resource, ""], lines));
  const [name, when] = [input("text", { value: answer.name }), monthField(month)];
  const make = async () => {
    const workbooks = [...boxes].filter(([, box]) => box.checked).map(([key]) => key);
    const made = await post("/api/new-plan", { folder: path, name: name.value, month: when.value, workbooks });
    if (made === null) return;
    await openFolder(path);
    await start("/api/begin-batch", { plan: made.plan, month: when.value });
  };
  const fields = element("div", undefined, "choices");
  fields.append(labelled(texts.plan_name, name), labelled(texts.month, when));
  const listed = element("div", undefined, "scroll");
  listed.append(table);
  shown.append(element("h2", texts.plan_which), listed, fields, button(texts.plan_make, make, "main"));
}

function workbookCells(book, boxes) {
  const name = book.sheet ? `${book.file} · ${book.sheet}` : book.file;
  const box = input("checkbox", { checked: !book.problem, disabled: Boolean(book.problem), ariaLabel: name });
  boxes.set(book.key, box);
  return [[box], name, book.title ?? book.problem, book.problem ? "" : fill(texts.workbook_counts, book)];
}

export function setUpMonth(startBatch) {
  start = startBatch;
  byId("begin-batch").addEventListener("toggle", () => {
    if (byId("begin-batch").open && !byId("folder-shown").childElementCount) openFolder();
  });
  byId("folder-open").addEventListener("click", () => openFolder());
  byId("folder-path").addEventListener("keydown", (event) => {
    if (event.key === "Enter") openFolder();
  });
}
