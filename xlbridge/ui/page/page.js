// Sets up the screens, and restores the page's state after a reload.

import { byId, call, element, isOpen, post, replaceChoices, running, show, showAddressed, startRequest, texts } from "./core.js";
import { setUpBegin, showKnown } from "./begin.js";
import { setUpJobs } from "./jobs.js";
import { followExport, setUpPanels } from "./panels.js";
import { followBatch, setUpBatches } from "./batches.js";
import { setUpCorrect } from "./correct.js";
import { setUpMapping } from "./mapping.js";
import { dropPlan, followSending, plan, setUpSend } from "./send.js";

async function restore() {
  const isNewest = startRequest("screen");
  if (isOpen) {
    await replaceChoices(() => call("/api/sheet"), showKnown);
  }
  if (running === "export") {
    show("exports");
    followExport();
  } else if (running === "batch") {
    show("batches");
    followBatch();
  } else if (running) {
    show("send");
    followSending();
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
byId("end").addEventListener("click", async () => {
  await post("/api/stop", {});
  const main = element("main");
  main.append(element("p", texts.ended, "card"));
  document.body.replaceChildren(main);
});
restore();
