// Sets up the screens, and restores the page's state after a reload.

import { byId, call, element, isOpen, leftOpen, post, replaceChoices, running, settled, show, showAddressed, startRequest, texts } from "./core.js";
import { continueDraft, followTemplate, setUpBegin, showKnown } from "./begin.js";
import { setUpJobs } from "./jobs.js";
import { followExport, setUpPanels } from "./panels.js";
import { followBatch, setUpBatches } from "./batches.js";
import { setUpCorrect, showReopened } from "./correct.js";
import { setUpMapping } from "./mapping.js";
import { dropPlan, followSending, plan, setUpSend } from "./send.js";

// The screen of each work, and what follows it there.
const WORK = { export: ["exports", followExport], template: ["begin", followTemplate], batch: ["batches", followBatch] };

async function restore() {
  const isNewest = startRequest("screen");
  if (isOpen) {
    await replaceChoices(() => call("/api/sheet"), showKnown);
  } else if (leftOpen && (await continueDraft(leftOpen))) {
    showReopened();
    return;
  }
  if (running) {
    const [screen, follow] = WORK[running] ?? ["send", followSending];
    show(screen);
    follow();
  } else if (isNewest()) {
    showAddressed();
  }
}

setUpBegin();
setUpMapping();
setUpCorrect(plan, dropPlan);
setUpSend();
setUpJobs();
setUpPanels();
setUpBatches();
for (const one of document.querySelectorAll("nav button")) {
  one.addEventListener("click", () => show(one.dataset.view));
}
byId("help-button").addEventListener("click", () => {
  byId("help").hidden = !byId("help").hidden;
  byId("help-button").setAttribute("aria-expanded", String(!byId("help").hidden));
});
for (const name of ["language", "theme"]) {
  byId(name).addEventListener("change", async () => {
    await settled();
    if (await post("/api/preferences", { language: byId("language").value, theme: byId("theme").value })) location.reload();
  });
}
byId("end").addEventListener("click", async () => {
  await post("/api/stop", {});
  window.stop(); // no answer is shown any more
  const main = element("main");
  main.append(element("p", texts.ended, "card"));
  document.body.replaceChildren(main);
});
restore();
