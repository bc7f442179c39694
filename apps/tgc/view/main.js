import {App} from "./app.js";
import {unpackJson} from "./data.js";
import {loadLayout} from "./layout.js";
import {installCommands} from "./commands.js";

const kLayout = "LAYOUT_WASM";

async function begin() {
  const packedData = (id) => document.getElementById(id).textContent;
  const code = new Blob([Uint8Array.from(atob(kLayout), (c) => c.charCodeAt(0))]).stream()
    .pipeThrough(new DecompressionStream("deflate"));
  await loadLayout(await new Response(code).arrayBuffer());
  const app = new App(await unpackJson(packedData("index")), async (g) => {
    const here = document.getElementById("graph" + g);
    if (here) return here.textContent;
    for (const group of document.querySelectorAll("[id^=graphs][id*='-']")) {
      const [, first, last] = /^graphs(\d+)-(\d+)$/.exec(group.id).map(Number);
      if (g >= first && g < last) return {text: group.textContent, at: g - first};
    }
    const answer = await fetch("graph/" + g);
    if (!answer.ok) throw new Error(await answer.text());
    return answer.text();
  });
  installCommands(app);
  await app.show(app.state);
}
begin();
