// The borders between panes. The pointer moves them, or the arrow keys move the border that has the focus.
import {byId, element} from "./list.js";

const kNarrowest = 120, kStep = 24;  // pixels: minimum size of a pane, and step of a key

/** The borders. `variable`: the CSS variable with the size of the pane; `grows`: 1 if the pane grows to the right or
 * downwards, -1 if it grows to the left. */
const kBorders = [
  {variable: "--left", pane: "stages", says: "width of the stages", axis: "x", grows: 1, size: 292},
  {variable: "--right", pane: "side", says: "width of the texts", axis: "x", grows: -1, size: 500},
  {variable: "--texts", pane: "text", says: "height of the texts", axis: "y", grows: 1, size: 480}];

export function installBorders() { kBorders.forEach(install); }

/** Moves the focus to the next border, or to the first one. */
export function focusOnBorder() {
  const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".border")]);
  all[(all.indexOf(/** @type {HTMLElement} */ (document.activeElement)) + 1) % all.length].focus();
}

function install({variable, pane: id, says, axis, grows, size}) {
  const pane = byId(id), border = element("div", "border " + axis + (grows < 0 ? " before" : "")), isX = axis === "x";
  const say = (name, value) => border.setAttribute(name, String(value));
  const most = () => (isX ? innerWidth : innerHeight) - 2 * kNarrowest;
  const now = () => (isX ? pane.offsetWidth : pane.offsetHeight);
  const set = (to) => {
    const kept = Math.round(Math.max(kNarrowest, Math.min(most(), to)));
    document.documentElement.style.setProperty(variable, kept + "px"), say("aria-valuenow", kept);
  };
  border.tabIndex = 0, border.title = says + ": drag it, or use arrow keys";
  say("role", "separator"), say("aria-orientation", isX ? "vertical" : "horizontal"), say("aria-label", says);
  say("aria-valuenow", size), say("aria-valuemin", kNarrowest), say("aria-controls", id);
  let begun = null;
  const at = (e) => (isX ? e.clientX : e.clientY);
  border.addEventListener("pointerdown", (e) => {
    begun = {at: at(e), size: now()}, border.setPointerCapture(e.pointerId), e.stopPropagation();
  });
  border.addEventListener("pointermove", (e) => { if (begun) set(begun.size + grows * (at(e) - begun.at)); });
  border.addEventListener("pointerup", () => { begun = null; });
  border.addEventListener("click", (e) => e.stopPropagation());
  border.addEventListener("keydown", (e) => {
    const by = {ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1}[e.key];
    if (!by || (e.key === "ArrowLeft" || e.key === "ArrowRight") !== isX) return;
    e.preventDefault(), e.stopPropagation(), set(now() + grows * by * kStep);
  });
  pane.append(border);
}
