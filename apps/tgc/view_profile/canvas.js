import {plainText} from "../view/data.js";
import {colorOf} from "./kinds.js";
import {firstIndexAbove} from "./track.js";
/** @typedef {import("./lanes.js").Lane} Lane */
/** @typedef {import("./track.js").Chunk} Chunk */

// pixels of the ruler; least time in view; most pixels by which a click may move
const kRuler = 22, kLeastSpan = 8, kClick = 4;
const kLetter = 6.7, kPale = 0.34;

/** A slice under the mouse. @typedef {{lane: Lane, begin: number, end: number, kind: number, item: number,
 *   level: number, amount: number}} Hit */

export class TimeCanvas {
  /** @param {HTMLCanvasElement} canvas @param {HTMLCanvasElement} overview @param {any} app */
  constructor(canvas, overview, app) {
    this.canvas = canvas, this.overview = overview, this.app = app;
    this.view = {from: 0, to: 1, top: 0};
    this.limits = {from: 0, to: 1};
    /** @type {Lane[]} */ this.lanes = [];
    this.height = 0;
    /** @type {(string | null)[]} */ this.texts = [];
    /** @type {number[]} */ this.frames = [];
    this.waiting = false;
    this.isHeld = true;  // nothing is drawn until the first chunks are read: a frame would delay the reading
    this.size = {width: 0, height: 0, label: 150};
    this.#listen(), this.#resize();
    const watch = new ResizeObserver(() => this.#resize());
    watch.observe(canvas), watch.observe(overview);
  }

  get perPixel() { return (this.view.to - this.view.from) / Math.max(1, this.size.width - this.size.label); }
  xOf(time) { return this.size.label + (time - this.view.from) / this.perPixel; }
  timeAt(x) { return this.view.from + (x - this.size.label) * this.perPixel; }

  /** Shows a part of the time, within the limits. */
  show(from, to) {
    const most = (this.limits.to - this.limits.from) * 1.1, span = Math.min(most, Math.max(kLeastSpan, to - from));
    const middle = (from + to) / 2, slack = Math.min(span * 0.5, most * 0.1);
    const least = this.limits.from - slack, last = this.limits.to + slack - span;
    this.view.from = Math.min(Math.max(middle - span / 2, Math.min(least, last)), Math.max(least, last));
    this.view.to = this.view.from + span;
    this.redraw(), this.app.viewed();
  }
  fit() {
    const margin = (this.limits.to - this.limits.from) * 0.02;
    this.show(this.limits.from - margin, this.limits.to + margin);
  }
  zoom(factor, at = (this.view.from + this.view.to) / 2) {
    const {from, to} = this.view, span = Math.max(kLeastSpan, (to - from) * factor), share = (at - from) / (to - from);
    this.show(at - span * share, at + span * (1 - share));
  }
  pan(pixels) { this.show(this.view.from + pixels * this.perPixel, this.view.to + pixels * this.perPixel); }
  scroll(pixels) {
    const most = Math.max(0, this.height - (this.size.height - kRuler));
    this.view.top = Math.min(most, Math.max(0, this.view.top + pixels));
    this.redraw();
  }
  /** Scrolls so that a row is visible. */
  reveal(lane) {
    const room = this.size.height - kRuler;
    if (lane.y < this.view.top || lane.y + lane.height > this.view.top + room) {
      this.view.top = 0;
      this.scroll(lane.y - room / 3);
    }
  }

  redraw() {
    if (this.waiting || this.isHeld) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false, this.draw(); });
  }
  draw() {
    if (this.isHeld) return;
    const begun = performance.now();
    this.#draw();
    this.frames.push(performance.now() - begun);
    if (this.frames.length > 240) this.frames.shift();
  }

  #resize() {
    const ratio = devicePixelRatio;
    for (const c of [this.canvas, this.overview])
      c.width = Math.round(c.clientWidth * ratio), c.height = Math.round(c.clientHeight * ratio);
    this.size = {width: this.canvas.clientWidth, height: this.canvas.clientHeight,
      label: this.canvas.clientWidth < 600 ? 126 : 150};
    this.scroll(0);
  }

  #paint() {
    const style = getComputedStyle(document.documentElement), of = (name) => style.getPropertyValue(name).trim();
    const isDark = document.documentElement.classList.contains("dark");
    return {isDark, back: of("--back"), panel: of("--panel"), raised: of("--raised"), line: of("--line"),
      text: of("--text"), quiet: of("--quiet"), accent: of("--accent"), mono: of("--mono"), sans: of("--sans"),
      kinds: this.app.index.kinds.map((kind) => colorOf(kind, isDark))};
  }

  #draw() {
    const ratio = devicePixelRatio, c = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    const {width, height, label} = this.size, paint = this.paint = this.#paint();
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = paint.back, c.fillRect(0, 0, width, height);
    if (!width || !this.lanes.length) return;
    const seen = this.#seen();
    const visibleChunks = new Map();
    for (const track of this.#tracksOf(seen))
      visibleChunks.set(track, track.visibleChunks(this.view.from, this.view.to, this.perPixel));
    c.save(), c.beginPath(), c.rect(0, kRuler, width, height - kRuler), c.clip();
    const grid = this.#ticks();
    c.fillStyle = paint.line, c.globalAlpha = 0.6;
    for (const time of grid.times) c.fillRect(Math.round(this.xOf(time)), kRuler, 1, height);
    c.globalAlpha = 1;
    for (const lane of seen) {
      const y = lane.y - this.view.top + kRuler;
      if (lane.isHead) c.fillStyle = paint.panel, c.fillRect(0, y, width, lane.height - 1);
      c.save(), c.beginPath(), c.rect(label, y, width - label, lane.height), c.clip();
      if (lane.row >= 0) this.#drawRow(c, lane, y, visibleChunks.get(lane.group.track));
      c.restore();
    }
    c.fillStyle = paint.back, c.fillRect(0, kRuler, label, height);
    for (const lane of seen) this.#drawLabel(c, lane, lane.y - this.view.top + kRuler);
    c.restore();
    this.#drawRuler(c, grid);
    this.#drawOverview();
    this.app.drawn();
  }

  #seen() {
    const {top} = this.view, bottom = top + this.size.height - kRuler;
    return this.lanes.filter((l) => l.y + l.height > top && l.y < bottom);
  }
  /** The tracks of lanes, except headings without slices. @param {Lane[]} lanes */
  #tracksOf(lanes) { return new Set(lanes.filter((l) => l.row >= 0).map((l) => l.group.track)); }

  /** Begins to read what the next frame draws. */
  read() {
    for (const track of this.#tracksOf(this.#seen())) track.visibleChunks(this.view.from, this.view.to, this.perPixel);
    this.#overviewChunks();
  }

  #drawLabel(c, lane, y) {
    const {paint} = this, {label} = this.size;
    if (lane.isHead) {
      c.fillStyle = paint.panel, c.fillRect(0, y, label, lane.height - 1);
      c.fillStyle = paint.text, c.font = "600 11.5px " + paint.sans;
      c.fillText((lane.group.isOpen ? "\u25be " : "\u25b8 ") + lane.name, 6, y + 14, label - 10);
      return;
    }
    if (lane.height < 11) return;
    c.fillStyle = paint.quiet, c.font = "11px " + paint.mono;
    c.fillText(plainText(lane.name), 18, y + lane.height / 2 + 4, label - 22);
  }

  /** @param {CanvasRenderingContext2D} c @param {Lane} lane @param {number} y
   * @param {{level: number, chunks: Chunk[]}} visible */
  #drawRow(c, lane, y, {level, chunks}) {
    const {from, to} = this.view, {paint, perPixel} = this, {style, most} = lane.group.track.rows[lane.row];
    const left = this.size.label, isFine = level === 0, height = lane.height - 2, selected = this.app.state.i;
    for (const chunk of chunks) {
      const range = chunk.rows.get(lane.row);
      if (!range) continue;
      const overlaps = style === "place" && isFine;
      let i = overlaps ? range[0] : firstIndexAbove(chunk.end, from, range[0], range[1]);
      for (let last = -1; i < range[1] && chunk.begin[i] < to; i++) {
        const begin = chunk.begin[i], end = chunk.end[i];
        if (end <= from) continue;
        const x = left + (begin - from) / perPixel, right = left + (end - from) / perPixel;
        const item = chunk.item ? chunk.item[i] : -1, color = paint.kinds[chunk.kind[i]], share = chunk.amount[i] / 15;
        if (overlaps) {  // one line for each wave slot of the SIMD
          const step = height / most, w = Math.max(1, right - x - (right - x > 3 ? 1 : 0));
          c.fillStyle = color, c.globalAlpha = 0.8;
          c.fillRect(x, y + item * step + 0.5, w, Math.max(1, step - (step > 3 ? 1 : 0)));
          continue;
        }
        if (right <= last) continue;  // the pixels of this item are painted already
        last = Math.max(right, Math.floor(x) + 1);
        c.fillStyle = color;
        if (style === "count" || style === "place") {
          const h = Math.max(1, height * share);
          c.globalAlpha = lane.isHead ? 0.5 : 0.75, c.fillRect(x, y + 1 + height - h, Math.max(1, right - x), h);
        } else if (style === "wave") this.#drawIssue(c, x, right, y, height, share, isFine);
        else {
          c.globalAlpha = isFine ? 0.9 : 0.3 + 0.65 * share;
          c.fillRect(x, y + 1, Math.max(1, right - x - (right - x > 4 ? 1 : 0)), height);
        }
        if (item >= 0 && right - x > 34) this.#drawText(c, Math.max(x, left), right, y + height / 2 + 5, item);
        if (item >= 0 && item === selected && lane.group.trace >= 0) {
          c.globalAlpha = 1, c.strokeStyle = paint.accent, c.lineWidth = 1.5;
          c.strokeRect(x + 0.5, y + 1, Math.max(2, right - x - 1), height);
        }
      }
    }
    c.globalAlpha = 1;
    if (style === "wave") this.#drawMarks(c, lane, y, height, isFine);
  }

  /** Draws what a wave spends on one instruction: the time until its issue is pale, the cycle of the issue is not. */
  #drawIssue(c, x, right, y, height, share, isFine) {
    const issue = 1 / this.perPixel;
    c.globalAlpha = isFine ? kPale : kPale + 0.6 * share;
    c.fillRect(x, y + 1, Math.max(1, right - x), height);
    if (!isFine || right - x < 2) return;
    c.globalAlpha = 1;
    const w = Math.max(1, Math.min(issue, right - x) - (issue > 4 ? 1 : 0));
    c.fillRect(right - Math.max(1, Math.min(issue, right - x)), y + 1, w, height);
  }

  #drawText(c, x, right, y, item) {
    const text = this.texts[item], letters = Math.floor((right - x - 6) / kLetter);
    if (!text || letters < 3) return;
    c.globalAlpha = 1, c.fillStyle = this.paint.text, c.font = "11px " + this.paint.mono;
    c.fillText(text.length > letters ? text.slice(0, letters - 1) + "\u2026" : text, x + 3, y - 1);
  }

  /** Marks the executions of the selected instruction on a coarse row of a wave, and frames the selected execution. */
  #drawMarks(c, lane, y, height, isFine) {
    const hits = this.app.hits.get(lane.group.trace), {from, to} = this.view, one = this.app.state.e;
    const wave = Number(lane.name.replace(/\D+/, "")), of = hits && hits.byWave.get(wave);
    if (!of) return;
    c.fillStyle = this.paint.accent;
    for (let i = firstIndexAbove(of.end, from); !isFine && i < of.begin.length && of.begin[i] < to;) {
      const x = this.xOf(of.begin[i]), right = Math.max(this.xOf(of.end[i]), x + 1.5);
      c.fillRect(x, y + height - 2, right - x, 3);
      i = Math.max(i + 1, firstIndexAbove(of.end, this.timeAt(Math.floor(right)), i + 1));
    }
    if (!one || one[0] !== lane.group.trace || one[1] !== wave) return;
    const x = this.xOf(one[2]), right = this.xOf(of.end[firstIndexAbove(of.begin, one[2]) - 1]);
    c.strokeStyle = this.paint.accent, c.lineWidth = 2.5;
    c.strokeRect(x - 1, y, Math.max(3, right - x + 1), height + 2);
  }

  #ticks() {
    const {from, to} = this.view, least = 90 * this.perPixel;
    let step = Math.pow(10, Math.floor(Math.log10(least)));
    for (const by of [2, 2.5, 2, 1]) if (step < least) step *= by;
    step = Math.max(1, Math.round(step));
    const times = [];
    const {zero} = this.app;
    for (let t = zero + Math.ceil((from - zero) / step) * step; t < to; t += step) times.push(t);
    return {times, step};
  }

  #drawRuler(c, {times}) {
    const {width, label} = this.size, {paint} = this;
    c.fillStyle = paint.panel, c.fillRect(0, 0, width, kRuler);
    c.fillStyle = paint.line, c.fillRect(0, kRuler - 1, width, 1);
    c.font = "11px " + paint.sans, c.fillStyle = paint.quiet;
    c.fillText(this.app.unitText(), 6, 15, label - 10);
    for (const time of times) {
      const x = this.xOf(time);
      if (x < label) continue;
      c.fillStyle = paint.line, c.fillRect(Math.round(x), kRuler - 6, 1, 6);
      const text = this.app.timeText(time - this.app.zero);
      c.fillStyle = paint.quiet;
      if (x + 3 + c.measureText(text).width <= width) c.fillText(text, x + 3, 14);
    }
  }

  /** Draws the whole time above the timeline, with a frame around the visible part. */
  #drawOverview() {
    const ratio = devicePixelRatio, c = /** @type {CanvasRenderingContext2D} */ (this.overview.getContext("2d"));
    const width = this.overview.clientWidth, height = this.overview.clientHeight, {paint, limits, view} = this;
    const scale = (width - this.size.label) / (limits.to - limits.from || 1);
    const xOf = (time) => this.size.label + (time - limits.from) * scale;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = paint.back, c.fillRect(0, 0, width, height);
    c.fillStyle = paint.quiet, c.font = "11px " + paint.sans, c.fillText("overview", 6, height / 2 + 4);
    c.globalAlpha = 0.7;
    for (const chunk of this.#overviewChunks()) {
      const range = chunk.rows.get(0) || [0, 0];
      for (let i = range[0], last = -1; i < range[1]; i++) {
        const x = xOf(chunk.begin[i]), right = xOf(chunk.end[i]), h = Math.max(1, (height - 4) * chunk.amount[i] / 15);
        if (right <= last) continue;
        last = Math.max(right, Math.floor(x) + 1);
        c.fillStyle = paint.kinds[chunk.kind[i]];
        c.fillRect(x, height - 2 - h, Math.max(1, right - x), h);
      }
    }
    c.globalAlpha = 1;
    const x = xOf(Math.max(limits.from, view.from)), right = xOf(Math.min(limits.to, view.to));
    c.fillStyle = paint.accent, c.globalAlpha = 0.12, c.fillRect(x, 0, Math.max(2, right - x), height);
    c.globalAlpha = 1, c.strokeStyle = paint.accent, c.lineWidth = 1.5;
    c.strokeRect(x + 0.75, 0.75, Math.max(2, right - x - 1.5), height - 1.5);
  }

  #overviewChunks() {
    const track = this.app.overviewTrack(), {from, to} = this.limits;
    return track ? track.visibleChunks(from, to, (to - from) / (this.size.width - this.size.label)).chunks : [];
  }

  /** @param {number} y @returns {Lane | undefined} */
  laneAt(y) {
    const at = y - kRuler + this.view.top;
    return y < kRuler ? undefined : this.lanes.find((l) => at >= l.y && at < l.y + l.height);
  }

  /** Returns the slice at a point of the canvas, or the nearest one within two pixels. @returns {Hit | null} */
  sliceAt(x, y) {
    const lane = this.laneAt(y), {track} = lane ? lane.group : {track: null};
    if (!lane || !track || lane.row < 0 || x < this.size.label) return null;
    const {level, chunks} = track.visibleChunks(this.view.from, this.view.to, this.perPixel);
    const time = this.timeAt(x), near = 2 * this.perPixel, {style, most} = track.rows[lane.row];
    const place = Math.floor((y - kRuler + this.view.top - lane.y) / (lane.height - 2) * most);
    let best = null, distance = near;
    for (const chunk of chunks) {
      const range = chunk.rows.get(lane.row);
      for (let i = range ? range[0] : 0; range && i < range[1] && chunk.begin[i] <= time + near; i++) {
        const away = Math.max(chunk.begin[i] - time, time - chunk.end[i], 0), item = chunk.item ? chunk.item[i] : -1;
        if (away > distance || style === "place" && level === 0 && item !== place) continue;
        distance = away;
        best = {lane, begin: chunk.begin[i], end: chunk.end[i], kind: chunk.kind[i], item, level,
          amount: chunk.amount[i]};
      }
    }
    return best;
  }

  #listen() {
    const {canvas} = this;
    let drag = null;
    const place = (e) => {
      const box = canvas.getBoundingClientRect();
      return {x: e.clientX - box.left, y: e.clientY - box.top};
    };
    canvas.addEventListener("wheel", (e) => {
      e.preventDefault();
      const {x} = place(e), unit = e.deltaMode === 1 ? 16 : 1, dx = e.deltaX * unit, dy = e.deltaY * unit;
      if (x < this.size.label && !e.ctrlKey) this.scroll(dy);
      else if (e.shiftKey || Math.abs(dx) > Math.abs(dy)) this.pan(dx || dy);
      else this.zoom(Math.exp(Math.max(-120, Math.min(120, dy)) * (e.ctrlKey ? 0.01 : 0.0022)), this.timeAt(x));
    }, {passive: false});
    canvas.addEventListener("pointerdown", (e) => {
      if (e.button) return;
      canvas.setPointerCapture(e.pointerId), canvas.focus();
      drag = {...place(e), x0: e.clientX, y0: e.clientY, moved: false};
    });
    canvas.addEventListener("pointermove", (e) => {
      const at = place(e);
      if (!drag) return this.app.hover(this.sliceAt(at.x, at.y), at);
      if (Math.abs(e.clientX - drag.x0) + Math.abs(e.clientY - drag.y0) > kClick) drag.moved = true;
      if (!drag.moved) return;
      this.pan(drag.x - at.x), this.scroll(drag.y - at.y);
      drag.x = at.x, drag.y = at.y;
      this.app.hover(null, at);
    });
    canvas.addEventListener("pointerup", (e) => {
      const at = place(e), {moved} = drag || {moved: true};
      drag = null;
      if (moved) return;
      const lane = this.laneAt(at.y);
      if (lane && lane.isHead && (at.x < this.size.label || lane.row < 0)) this.app.toggle(lane.group);
      else this.app.picked(this.sliceAt(at.x, at.y));
    });
    canvas.addEventListener("pointercancel", () => { drag = null; });
    canvas.addEventListener("pointerleave", () => this.app.hover(null, {x: 0, y: 0}));
    canvas.addEventListener("dblclick", (e) => {
      const at = place(e), slice = this.sliceAt(at.x, at.y);
      if (slice) this.app.zoomTo(slice);
    });
    const move = (e) => {
      if (!(e.buttons & 1)) return;
      const {limits, view, size} = this, room = this.overview.clientWidth - size.label;
      const time = limits.from + (e.offsetX - size.label) / room * (limits.to - limits.from);
      const half = (view.to - view.from) / 2;
      this.show(time - half, time + half);
    };
    this.overview.addEventListener("pointerdown", (e) => { this.overview.setPointerCapture(e.pointerId), move(e); });
    this.overview.addEventListener("pointermove", move);
  }
}
