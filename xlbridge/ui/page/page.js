// The page: its screens, set up, and what it goes on with when it is loaded again.

import { byId, call, isOpen, post, running, show, texts } from "./core.js";
import { setUpBegin, showKnown } from "./begin.js";
import { setUpBeside } from "./beside.js";
import { setUpCorrect } from "./correct.js";
import { setUpMapping } from "./mapping.js";
import { followSending, plan, setUpSend } from "./send.js";

async function goOn() {
  if (isOpen) {
    const answer = await call("/api/sheet");
    if (answer) showKnown(answer);
  }
  if (running) {
    show("send");
    followSending();
  }
}

setUpBegin();
setUpMapping();
setUpCorrect(plan);
setUpSend();
setUpBeside();
for (const one of document.querySelectorAll("nav button")) {
  one.addEventListener("click", () => show(one.dataset.view));
}
byId("end").addEventListener("click", async () => {
  await post("/api/stop", {});
  document.body.textContent = texts.ended;
});
goOn();
