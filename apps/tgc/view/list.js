// A list of any length, which creates elements only for the rows near its visible part; and helpers for elements.

/** @template T */
export class RowList {
  /** @param {HTMLElement} home @param {{label: string, role: string, rowRole: string, height: number,
   *   fill: (row: HTMLElement, item: T, index: number) => void,
   *   chosen: (item: T, index: number, isShift: boolean) => void}} how */
  constructor(home, how) {
    this.how = how;
    /** @type {T[]} */ this.items = [];
    this.selected = -1;
    this.top = 0, this.room = 0;  // position and height of the visible part, cached because reading them is slow
    this.box = element("div", "list");
    this.box.tabIndex = 0;
    this.box.setAttribute("role", how.role);
    this.box.setAttribute("aria-label", how.label);
    this.all = element("div", "all");
    this.all.setAttribute("role", "presentation");
    this.box.append(this.all);
    home.append(this.box);
    this.box.addEventListener("scroll", () => { this.top = this.box.scrollTop, this.#fill(); });
    this.box.addEventListener("click", (e) => {
      const row = /** @type {HTMLElement} */ (e.target).closest(".row");
      if (row) how.chosen(this.items[Number(row.dataset.index)], Number(row.dataset.index), e.shiftKey);
    });
    new ResizeObserver(() => { this.room = this.box.clientHeight, this.#fill(); }).observe(this.box);
  }

  /** `revealed`: scroll so that the selected item is visible.
   * @param {T[]} items @param {boolean} revealed */
  show(items, selected = -1, revealed = false) {
    if (items.length !== this.items.length) this.all.style.height = items.length * this.how.height + "px";
    this.items = items, this.selected = selected;
    if (!revealed || !this.reveal(selected)) this.#fill();
  }
  /** Draws the rows again, because their content has changed. */
  refresh(selected = this.selected) {
    this.selected = selected;
    this.#fill();
  }
  /** Scrolls so that an item is visible. Returns whether the list had to scroll. @returns {boolean} */
  reveal(index) {
    const at = index * this.how.height;
    if (index < 0 || at >= this.top && at + this.how.height <= this.top + this.room) return false;
    this.scrollTo(at - this.room / 3);
    return true;
  }
  scrollTo(top) {
    this.box.scrollTop = top;
    this.top = this.box.scrollTop;
    this.#fill();
  }
  isSeen(index) { return index * this.how.height >= this.top && (index + 1) * this.how.height <= this.top + this.room; }

  #fill() {
    const {height, fill, rowRole} = this.how;
    const top = Math.max(0, Math.min(this.top, this.items.length * height - this.room));
    const first = Math.max(0, Math.floor(top / height) - 4);
    const last = Math.min(this.items.length, Math.ceil((top + this.room) / height) + 4);
    const rows = [];
    let selectedId = "";
    for (let i = first; i < last; i++) {
      const row = element("div", "row");
      row.dataset.index = String(i);
      row.id = this.how.label.replace(/\W/g, "-") + "-" + i;
      row.setAttribute("role", rowRole);
      row.setAttribute("aria-setsize", String(this.items.length));
      row.setAttribute("aria-posinset", String(i + 1));
      row.setAttribute("aria-selected", String(i === this.selected));
      if (i === this.selected) selectedId = row.id;
      row.style.top = i * height + "px", row.style.height = height + "px";
      fill(row, this.items[i], i);
      rows.push(row);
    }
    this.all.replaceChildren(...rows);
    if (selectedId) this.box.setAttribute("aria-activedescendant", selectedId);
    else this.box.removeAttribute("aria-activedescendant");
  }
}

/** @param {string} id @returns {any} */
export function byId(id) { return document.getElementById(id); }

/** @param {string} tag @param {string} [kind] its class @param {string} [text] */
export function element(tag, kind = "", text = "") {
  const out = document.createElement(tag);
  if (kind) out.className = kind;
  if (text) out.textContent = text;
  return out;
}

/** Makes a button that looks like a link. */
export function link(text, action) {
  const out = element("button", "link", text);
  /** @type {HTMLButtonElement} */ (out).type = "button";
  out.addEventListener("click", action);
  return out;
}
