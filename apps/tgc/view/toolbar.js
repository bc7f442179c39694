import {buttonOf, showMenu} from "./dialogs.js";
import {byId} from "./list.js";
/** @typedef {import("./app.js").App} App */
/** @typedef {{text: string, command: string, isOn?: (app: App) => boolean, isThere?: (app: App) => boolean,
 *   lacks?: (app: App) => string,
 *   menu?: (app: App) => {text: string, command: string, isOn?: boolean}[]}} Tool */

/** @type {Tool[]} */
const kTools = [
  {text: "Graph", command: "graph", isOn: ({state}) => !state.m && state.d < 0 && !state.o && state.r < 0},
  {text: "Changes", command: "difference", isOn: ({state}) => !state.m && (state.d >= 0 || state.o),
    lacks: ({state}) => (state.s || state.d >= 0 || state.o ? "" : "no stage comes before this graph")},
  {text: "Schedule", command: "model", isOn: (app) => app.state.m, isThere: (app) => Boolean(app.index.schedule)},
  {text: "Overview", command: "model", isOn: (app) => app.showsGraphList,
    isThere: (app) => !app.index.schedule && app.index.graphs.length > 1},
  {text: "Theme", command: "theme"},
  {text: "Panes \u25be", command: "", menu: paneMenu, isOn: ({state}) => state.h !== "" || state.u !== ""},
  // the buttons of some graphs or views come last, so that the others stay in their places
  {text: "Index", command: "arithmetic", isOn: (app) => app.state.a, isThere: (app) => !app.state.m},
  {text: "Fold \u25be", command: "", menu: foldMenu, isOn: ({state}) => state.f.length > 0,
    isThere: (app) => !app.state.m},
  {text: "Fit", command: "fit", isThere: (app) => !app.state.m},
  {text: "Colors", command: "colors", isThere: (app) => !app.state.m},
  {text: "Schedule", command: "schedule", isOn: (app) => app.state.m && !app.showsGraphList,
    isThere: (app) => !app.index.schedule && Boolean(app.schedule)},
];

function foldMenu({state, graph}) {
  const ofModel = graph.madeOf.length
    ? [{text: graph.isByLine ? "By the lines of the program" : "By the nodes of the model", command: "fold-model",
      isOn: state.f.some((w) => w.startsWith("m"))}] : [];
  return [{text: "Index arithmetic as text in its INDEX", command: "arithmetic", isOn: !state.a}, ...ofModel,
    {text: "All repeated blocks", command: "fold-repeats", isOn: state.f.includes("a")},
    {text: "The selected node, or unfold it", command: "fold"},
    {text: "All blocks like the selected one", command: "fold-alike"},
    {text: "Unfold everything", command: "unfold"}];
}
function paneMenu(app) {
  const {state} = app;
  return [{text: "Stages", command: "pane-stages", isOn: !state.h.includes("s")},
    {text: "Texts", command: "pane-texts", isOn: !state.h.includes("t")},
    {text: "Details", command: "pane-details", isOn: !state.h.includes("d")},
    {text: "Two texts side by side", command: "second-text", isOn: state.u !== ""},
    {text: "Wrap long lines", command: "wrap", isOn: !state.w}, {text: "Copy the text", command: "copy-text"}];
}

/** Makes the buttons. @param {App} app @param {(command: string) => void} obey
 *  @param {Map<string, {keys: string[], says: string}>} commands by name */
export function installToolbar(app, obey, commands) {
  const home = byId("tools"), keyOf = (name) => commands.get(name).keys[0];
  const buttons = kTools.map((tool) => {
    const button = buttonOf(tool.text, () => {
      if (!tool.menu) return obey(tool.command);
      const item = (i) => ({...i, key: keyOf(i.command), run: () => obey(i.command)});
      showMenu(button, tool.menu(app).map(item));
    });
    const {says = "a menu"} = commands.get(tool.command) || {};
    button.dataset.says = button.title = says + (tool.command ? ` (${keyOf(tool.command)})` : "");
    if (tool.menu) button.setAttribute("aria-haspopup", "menu");
    return button;
  });
  home.append(...buttons);
  app.showTools = () => kTools.forEach((tool, i) => {
    const button = buttons[i], isPressed = Boolean(tool.isOn && tool.isOn(app));
    const lacks = tool.lacks ? tool.lacks(app) : "";
    button.disabled = lacks !== "", button.title = lacks || button.dataset.says;
    button.hidden = Boolean(tool.isThere) && !tool.isThere(app);
    button.classList.toggle("on", isPressed);
    if (tool.isOn && !tool.menu) button.setAttribute("aria-pressed", String(isPressed));
  });
}
