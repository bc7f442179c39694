// One text: its lines as elements, so that they can be selected, copied and found by the browser. Lines are coloured
// when they come near the view.
import {element} from "./list.js";
import {plainText} from "./data.js";

const kChunk = 100;      // lines in one element, whose layout the browser skips while it is not visible
const kFirstChunks = 3;  // chunks that are made at once; others are made when needed or in idle time
const kTries = 6;        // frames in which a line may move because lines above it are laid out
const kMostColored = 2000;

// Tokens with a colour, by class: c comments, s strings, n numbers, k keywords and types, o ops and methods.
const kTokens = new RegExp([
  "(?<c>(?:^|(?<=\\s))(?:#|;|\\/\\/(?!\\d|\\w+[+)*])).*$|\\/\\*.*?\\*\\/)", "(?<s>\"[^\"]*\"|'[^']*')",
  "(?<n>(?<![\\w.%@])-?(?:0x[\\da-fA-F]+|\\d+\\.?\\d*(?:e[-+]?\\d+)?)[fulULh]*\\b)",
  "(?<k>\\b(?:for|if|else|return|void|const|extern|static|int|float|half|double|bool|char|short|long|unsigned|signed"
  + "|lambda|define|declare|load|store|br|ret|phi|getelementptr|True|False|None|__global__|__shared__|__kernel)\\b)",
  "(?<o>\\bOps\\.\\w+|(?<=\\.)[a-z_]\\w*(?=\\())"].join("|"), "g");

export class TextView {
  /** `chosen` is called with the line and the position of a click in it; -1: none, as for an arrow key.
   * @param {HTMLElement} home @param {string} label @param {(line: number, at: number) => void} chosen */
  constructor(home, label, chosen) {
    this.home = home, this.chosen = chosen, this.selected = -1;
    /** @type {string[]} */ this.lines = [];
    /** @type {HTMLElement[]} */ this.rows = [];
    /** @type {Map<number, string>} */ this.marked = new Map();  // by line, its CSS classes
    this.box = element("div", "list lines");
    this.box.tabIndex = 0;
    this.box.setAttribute("role", "listbox"), this.box.setAttribute("aria-label", label);
    this.idPrefix = label.replace(/\W/g, "-") + "-";
    home.append(this.box);
    this.seen = new IntersectionObserver((entries) => {
      for (const e of entries) if (e.isIntersecting) this.#highlightChunk(/** @type {HTMLElement} */ (e.target));
    }, {root: this.box, rootMargin: "400px"});
    this.box.addEventListener("click", (e) => {
      const row = /** @type {HTMLElement} */ (e.target).closest(".row"), selection = getSelection();
      if (!row || selection && !selection.isCollapsed) return;
      this.chosen(this.rows.indexOf(/** @type {HTMLElement} */ (row)), this.#clickedOffset(row, e));
    });
    this.box.addEventListener("keydown", (e) => {
      const by = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
      if (!by || e.shiftKey) return;
      e.preventDefault(), e.stopPropagation();
      this.chosen(Math.max(0, Math.min(this.lines.length - 1, this.selected + by)), -1);
    });
  }

  /** @param {string[]} lines */
  show(lines) {
    if (lines === this.lines) return;
    this.seen.disconnect();
    this.lines = lines, this.rows = [], this.marked = new Map(), this.selected = -1;
    this.box.replaceChildren();
    this.box.scrollTop = 0;
    this.#makeRowsUntil(kFirstChunks * kChunk);
    const more = () => {
      if (this.lines !== lines || this.rows.length >= lines.length) return;
      this.#makeRowsUntil(this.rows.length + kChunk * 4);
      requestIdleCallback(more);
    };
    requestIdleCallback(more);
  }
  #makeRowsUntil(until) {
    while (this.rows.length < Math.min(until, this.lines.length)) {
      const chunk = element("div", "chunk"), first = this.rows.length;
      const last = Math.min(first + kChunk, this.lines.length);
      chunk.setAttribute("role", "presentation"), chunk.dataset.first = String(first);
      chunk.style.containIntrinsicSize = "auto " + (last - first) * 18 + "px";
      for (let i = first; i < last; i++) {
        const row = element("div", "row", plainText(this.lines[i]) || "\u200b");
        row.dataset.n = String(i + 1), row.id = this.idPrefix + i;
        row.setAttribute("role", "option");
        this.rows.push(row), chunk.append(row);
      }
      this.box.append(chunk), this.seen.observe(chunk);
    }
  }
  #highlightChunk(chunk) {
    this.seen.unobserve(chunk);
    const first = Number(chunk.dataset.first);
    for (let i = first; i < Math.min(first + kChunk, this.rows.length); i++) this.#fill(i);
  }
  #fill(i) {
    const line = plainText(this.lines[i]), row = this.rows[i], [from, to] = this.parts && this.parts.get(i) || [-1, -1];
    const out = [];
    const put = (start, end, kind) => {
      if (start >= end) return;
      const cuts = [start, ...[from, to].filter((c) => c > start && c < end), end];
      for (let k = 1; k < cuts.length; k++) {
        const isPart = cuts[k - 1] >= from && cuts[k] <= to, text = line.slice(cuts[k - 1], cuts[k]);
        const kinds = [kind, isPart ? "part" : ""].filter(Boolean).join(" ");
        out.push(kinds ? element("span", kinds, text) : text);
      }
    };
    let at = 0;
    if (line.length <= kMostColored)
      for (const m of line.matchAll(kTokens)) {
        const [kind] = Object.entries(m.groups).find(([, text]) => text !== undefined) || [""];
        put(at, m.index, ""), put(m.index, m.index + m[0].length, kind), at = m.index + m[0].length;
      }
    put(at, line.length, "");
    row.replaceChildren(...(out.length ? out : ["\u200b"]));
  }

  /** Marks lines. `marks`: sets of lines by the name of the mark; `parts`: by line, the part of it that is marked.
   * @param {Object<string, Set<number>>} marks @param {Map<number, [number, number]>} parts @param {number} selected */
  mark(marks, parts, selected) {
    const next = new Map(), add = (line, kind) => next.set(line, (next.get(line) || "") + " " + kind);
    for (const [kind, lines] of Object.entries(marks))
      for (const line of lines) add(line, kind === "own" ? "lit" : kind);
    for (const line of parts.keys()) add(line, "has-part");
    this.#makeRowsUntil(Math.max(-1, ...next.keys()) + 1);
    const old = this.marked, before = this.parts || new Map();
    this.parts = parts, this.marked = next;
    for (const line of new Set([...old.keys(), ...next.keys()])) {
      const row = this.rows[line], kinds = next.get(line) || "", sign = /came/.test(kinds) ? "+ " : "\u2212 ";
      if (old.get(line) !== next.get(line)) row.className = "row" + kinds;
      row.dataset.n = (/came|went/.test(kinds) ? sign : "") + (line + 1);
      if (String(before.get(line)) !== String(parts.get(line))) this.#fill(line);
    }
    if (this.rows[this.selected]) this.rows[this.selected].removeAttribute("aria-selected");
    this.selected = selected;
    if (!this.rows[selected]) return this.box.removeAttribute("aria-activedescendant");
    this.rows[selected].setAttribute("aria-selected", "true");
    this.box.setAttribute("aria-activedescendant", this.rows[selected].id);
  }

  /** Scrolls so that a line is visible, unless one of `lines` is.
   * @param {number} line @param {Iterable<number>} lines */
  reveal(line, lines) {
    this.revealed = line;
    if (this.rows[line] && !this.#isSeen(lines)) this.#scrollTo(line, lines, kTries);
  }
  // Scrolls to a line, and again if the line moves: the browser knows the heights of the lines above it only when they
  // were near the view.
  #scrollTo(line, lines, tries) {
    const {rows} = this;
    if (!this.#isSeen([line, ...lines])) rows[line].scrollIntoView({block: "center", inline: "nearest"});
    const repeat = () => { if (rows === this.rows && line === this.revealed) this.#scrollTo(line, lines, tries - 1); };
    if (tries) requestAnimationFrame(repeat);
  }
  #isSeen(lines) {
    const all = this.box.getBoundingClientRect();
    return [...lines].some((i) => {
      const row = this.rows[i] && this.rows[i].getBoundingClientRect();
      return Boolean(row) && row.top >= all.top && row.bottom <= all.bottom;
    });
  }

  // Returns the index of the character of `row` that was clicked; -1 if there is none.
  #clickedOffset(row, e) {
    const at = document.caretPositionFromPoint ? document.caretPositionFromPoint(e.clientX, e.clientY) : null;
    if (!at || !row.contains(at.offsetNode)) return -1;
    const before = document.createRange();
    before.setStart(row, 0), before.setEnd(at.offsetNode, at.offset);
    return before.toString().length;
  }

  /** Copies all lines to the clipboard. Returns whether that was possible. */
  async copy() {
    const text = this.lines.map(plainText).join("\n") + "\n";
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch { /* a page from the disk may lack the permission */ }
    const range = document.createRange(), selection = getSelection();
    this.#makeRowsUntil(this.lines.length);
    range.selectNodeContents(this.box), selection.removeAllRanges(), selection.addRange(range);
    const isCopied = document.execCommand("copy");
    selection.removeAllRanges();
    return isCopied;
  }
}
