// The page: its screens, set up, and what it goes on with when it is loaded again.

import { asking, byId, call, isOpen, post, replacing, running, show, showAddressed, texts } from "./core.js";
import { setUpBegin, showKnown } from "./begin.js";
import { followExport, setUpPanels } from "./panels.js";
import { followBatch, setUpBatches } from "./batches.js";
import { setUpCorrect } from "./correct.js";
import { setUpMapping } from "./mapping.js";
import { dropPlan, followSending, plan, setUpSend } from "./send.js";

async function goOn() {
  const isNewest = asking("screen");
  if (isOpen) {
    await replacing(() => call("/api/sheet"), showKnown);
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
setUpPanels();
setUpBatches();
for (const one of document.querySelectorAll("nav button")) {
  one.addEventListener("click", () => show(one.dataset.view));
}
byId("end").addEventListener("click", async () => {
  await post("/api/stop", {});
  document.body.textContent = texts.ended;
});
goOn();
