// The entry point of the page.
import {unpacked} from "../view/data.js";
import {ProfileApp} from "./app.js";

async function begin() {
  const app = new ProfileApp(await unpacked(document.getElementById("index").textContent));
  window.theApp = app;
  await app.open();
}
begin();
