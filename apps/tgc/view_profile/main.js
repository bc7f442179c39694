import {unpackJson} from "../view/data.js";
import {ProfileApp} from "./app.js";
import {documentText} from "./documents.js";
import {stateOf} from "./state.js";

const kMostRuns = 1e6;

async function begin() {
  const home = (id) => document.getElementById(id);
  // unpack the document of the address's run, or else of run 0, at the same time, so that the page opens sooner
  const {r} = stateOf(location.hash, kMostRuns, 0), run = home("run" + r);
  const first = run ? documentText("run" + r).then(unpackJson) : null;
  const app = new ProfileApp(await unpackJson(home("index").textContent));
  if (first) app.documents.set(r, first);
  window.theApp = app;
  await app.open();
}
begin();
