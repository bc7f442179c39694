import {byId, element} from "./list.js";

/** A row of a table: its cells, what they are sorted by if not by their text, its group, its id, and what a click on it
 * does.
 * @typedef {{cells: (string | Node)[], values?: (string | number)[], group?: string, id?: string,
 *   open?: (() => void) | null}} TableRow
 * @typedef {{name: string, num?: boolean, kind?: string}} Head `kind`: the class of the column's cells, or
 * "long" for a column of words, in which cells with more than kShortText characters are wrapped */

const kToastMs = 4000;
const kManyColumns = 4;  // maximum number of columns of a narrow dialog
const kFirstRows = 60, kMoreRows = 100;  // rows of a table that are added at once, and in a step of idle time
const kLongText = 24;  // cells of text with more characters are wrapped and show only their first lines
const kShortText = 16;  // cells with more characters are wrapped in columns of words

/** Shows a text for some seconds. Screen readers announce it. @param {string} text */
export function toast(text) {
  const box = byId("toast");
  box.textContent = text, box.hidden = !text;
  clearTimeout(Number(box.dataset.timer));
  box.dataset.timer = String(setTimeout(() => { box.hidden = true; }, kToastMs));
}

export const dialog = () => /** @type {HTMLDialogElement} */ (byId("dialog"));

/** Makes a button. @param {string} text @param {() => void} action @param {string} [kind] its class */
export function buttonOf(text, action, kind = "") {
  const out = /** @type {HTMLButtonElement} */ (element("button", kind, text));
  out.type = "button";
  out.addEventListener("click", action);
  return out;
}

/** Makes a click outside close the dialog and arrow keys move through menus. (The browser handles Escape.) */
export function installDialog() {
  byId("menu").addEventListener("keydown", (e) => {
    const items = [...byId("menu").children], by = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
    if (!by) return;
    e.preventDefault(), e.stopPropagation();
    items[(items.indexOf(document.activeElement) + by + items.length) % items.length].focus();
  });
  dialog().addEventListener("click", (e) => { if (e.target === dialog()) dialog().close(); });
}

/** Shows a dialog with a heading, and a table that can be filtered and sorted.
 * @param {string} title @param {Head[]} heads @param {TableRow[]} rows @param {string} [note] text above the table */
export function showTable(title, heads, rows, note = "") {
  const box = dialog();
  box.classList.toggle("wide", heads.length > kManyColumns);
  const heading = element("h2", "", title), top = element("div", "top"), body = element("div", "body");
  const close = buttonOf("\u2715", () => box.close(), "close"), {filter, table} = filteredTable(heads, rows);
  heading.id = "dialog-title", close.setAttribute("aria-label", "close"), close.title = "close (Escape)";
  top.append(heading, filter, close);
  body.tabIndex = 0;
  if (note) body.append(element("p", "facts", note));
  body.append(table);
  box.replaceChildren(top, body);
  box.showModal();
  filter.focus();
}

/** Returns the text of a cell. @param {string | Node} cell */
export const cellText = (cell) => (typeof cell === "string" ? cell : cell.textContent || "");

/** Returns a table without the columns that have no text. @param {{heads: Head[], rows: TableRow[]}} table */
export function withoutEmptyColumns({heads, rows}) {
  const isShown = heads.map((_, i) => !rows.length || rows.some((r) => cellText(r.cells[i])));
  const shown = (list) => list && list.filter((_, i) => isShown[i]);
  return {heads: shown(heads), rows: rows.map((r) => ({...r, cells: shown(r.cells), values: shown(r.values)}))};
}

/** Makes a table and the field that filters its rows. A click on a column's name sorts rows without groups by it.
 * @param {Head[]} heads @param {TableRow[]} rows */
export function filteredTable(heads, rows) {
  const table = element("table"), head = element("tr"), filter = /** @type {HTMLInputElement} */ (element("input"));
  Object.assign(filter, {type: "search", placeholder: "filter", spellcheck: false});
  filter.setAttribute("aria-label", "filter the rows");
  let sorted = -1, isUp = true;
  const canSort = rows.length > 1 && !rows.some((r) => r.group);
  const fill = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = (r) => [r.group || "", ...r.cells.map(cellText)].join(" ").toLowerCase();
    const kept = rows.filter((r) => words.every((w) => all(r).includes(w)));
    const value = (r) => (r.values ? r.values[sorted] : cellText(r.cells[sorted]));
    if (sorted >= 0) kept.sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (isUp ? 1 : -1));
    [...table.querySelectorAll("tbody")].forEach((old) => old.remove());
    if (!kept.length) table.append(groupElement("nothing matches", heads.length));
    fillTable(table, heads, kept);
  };
  heads.forEach((h, i) => {
    const cell = Object.assign(element("th", classOf(h)), {scope: "col"});
    const sort = () => {
      isUp = sorted === i ? !isUp : !h.num, sorted = i;
      [...head.children].forEach((c) => c.removeAttribute("aria-sort"));
      cell.setAttribute("aria-sort", isUp ? "ascending" : "descending"), fill();
    };
    cell.append(canSort ? buttonOf(h.name, () => {}) : h.name), head.append(cell);
    if (canSort) cell.classList.add("sorts"), cell.addEventListener("click", sort);
  });
  table.append(element("thead"));
  table.firstChild.append(head);
  filter.addEventListener("input", fill);
  fill();
  return {filter, table};
}

// Adds the rows to a table. In a long table without groups, adds the first rows and the one with the longest text of
// each column, which decide how wide the columns are, and the others in idle time.
function fillTable(table, heads, rows) {
  const isGrouped = rows.some((r) => r.group), made = [], widest = isGrouped ? [] : heads.map((_, i) => {
    const lengths = rows.map((r) => cellText(r.cells[i]).length);
    return lengths.indexOf(Math.max(...lengths));
  }).sort((a, b) => a - b);
  let next = 0, part = null, group = null;
  const add = (i) => {
    const row = rows[i];
    if (made[i]) return;
    if (!part || row.group !== group) table.append(part = groupElement(group = row.group, heads.length));
    part.insertBefore(made[i] = rowElement(row, heads), made[widest.find((k) => k > i && made[k])] || null);
  };
  const addMore = (count) => {
    for (const end = next + count; next < end && next < rows.length; next++) add(next);
    if (next < rows.length) requestIdleCallback(() => { if (part.isConnected) addMore(kMoreRows); });
  };
  addMore(isGrouped ? rows.length : kFirstRows);
  if (rows.length) widest.forEach(add);
}

const classOf = ({num, kind = ""}) => (num ? "num " : "") + (kind === "long" ? "" : kind);

function groupElement(name, columns) {
  const out = element("tbody");
  if (!name) return out;
  const row = element("tr"), cell = Object.assign(element("th", "group", name), {colSpan: columns, scope: "rowgroup"});
  row.append(cell), out.append(row);
  return out;
}
function rowElement({cells, id = "", open}, heads) {
  const out = element("tr", open ? "opens" : "");
  if (id) out.id = id;
  cells.forEach((cell, i) => {
    const td = element("td", classOf(heads[i]));
    if (typeof cell === "string" && cell.length > kLongText) {
      const start = element("div", "start", cell);
      start.title = cell, td.append(start);
    } else td.append(cell);
    out.append(td);
    if (td.textContent.length > (heads[i].kind === "long" ? kShortText : kLongText)) td.classList.add("long");
  });
  if (open) out.addEventListener("click", (e) => {
    const isText = String(getSelection()) !== "";
    if (!isText && !(/** @type {HTMLElement} */ (e.target).closest("button, a"))) open();
  });
  return out;
}

/** Opens a menu below a button. Escape and a click outside close it, as the browser does for popovers.
 * @param {HTMLElement} button @param {{text: string, key: string, isOn?: boolean, run: () => void}[]} items */
export function showMenu(button, items) {
  const menu = byId("menu"), {left, bottom} = button.getBoundingClientRect();
  menu.replaceChildren(...items.map(({text, key, isOn, run}) => {
    const item = buttonOf("", () => { menu.hidePopover(), run(); });
    item.setAttribute("role", isOn === undefined ? "menuitem" : "menuitemcheckbox");
    if (isOn !== undefined) item.setAttribute("aria-checked", String(isOn));
    item.append(element("span", "check", isOn ? "\u2713" : ""), element("span", "says", text), element("kbd", "", key));
    return item;
  }));
  menu.style.left = Math.min(left, innerWidth - 330) + "px", menu.style.top = bottom + 4 + "px";
  menu.showPopover();
  /** @type {HTMLElement} */ (menu.firstChild).focus();
}
