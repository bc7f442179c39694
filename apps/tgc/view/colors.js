// The colours of ops, which are those of tinygrad's VIZ, and of ranges by axis type.

const kMovement = ["RESHAPE", "EXPAND", "PERMUTE", "PAD", "SHRINK", "FLIP"];
const kAlu = ["EXP2", "LOG2", "SIN", "SQRT", "RECIPROCAL", "NEG", "TRUNC", "ADD", "MUL", "IDIV", "MAX", "MOD", "CMPLT",
  "CMPNE", "CMPEQ", "XOR", "SHL", "SHR", "OR", "AND", "SUB", "FDIV", "POW", "WHERE", "MULACC"];
const kOps = {LOAD: "#ffc0c0", STORE: "#87ceeb", CONST: "#e0e0e0", VCONST: "#e0e0e0", REDUCE: "#ff5b5b",
  DEFINE_GLOBAL: "#cb9037", DEFINE_LOCAL: "#f2cb91", DEFINE_REG: "#f2cb91", REDUCE_AXIS: "#ff6b6b", RANGE: "#c8a0e0",
  ASSIGN: "#909090", BARRIER: "#ff8080", IF: "#c8b0c0", SPECIAL: "#c0c0ff", INDEX: "#cef263", WMMA: "#efefc0",
  MULTI: "#f6ccff", KERNEL: "#3e7f55", CUSTOM_KERNEL: "#3ebf55", THREEFRY: "#ffff80", BUFFER_VIEW: "#e5eaff",
  BUFFER: "#b0bdff", COPY: "#a040a0", ENCDEC: "#bf71b6", ALLREDUCE: "#ff40a0",
  MSELECT: "#d040a0", MSTACK: "#d040a0", CONTIGUOUS: "#ffc14d", BUFFERIZE: "#ff991c", AFTER: "#8a7866", END: "#524c46"};
for (const op of kMovement) kOps[op] = "#d8f9e4";
for (const op of kAlu) kOps[op] = "#ffffc0";

/** @param {string} op */
export function colorOfOp(op) { return kOps[op] || "#ffffff"; }

const kAxes = {GLOBAL: "#3b82f6", WARP: "#06b6d4", LOCAL: "#0891b2", LOOP: "#6b7280", GROUP_REDUCE: "#dc2626",
  REDUCE: "#ef4444", UPCAST: "#eab308", UNROLL: "#a855f7", THREAD: "#2563eb", OUTER: "#0d9488", PLACEHOLDER: "#9ca3af"};
/** @param {string} arg of a RANGE */
export function colorOfRange(arg) { return kAxes[(/AxisType\.(\w+)/.exec(arg) || ["", ""])[1]] || "#9ca3af"; }

/** Returns the colour, darkened so that a dot of it can be seen on a light background. */
export function deep(color) {
  const parts = [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16))
    .map((c) => Math.round(Math.max(0, 255 - (255 - c) * 2.4) * 0.93));
  return "#" + parts.map((c) => c.toString(16).padStart(2, "0")).join("");
}

/** Mixes two colours "#rrggbb". `part`: the share of `b`, from 0 to 1. @param {number} part of `b` */
export function mixed(a, b, part) {
  const [x, y] = [a, b].map((c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)));
  return "#" + x.map((v, i) => Math.round(v + (y[i] - v) * part).toString(16).padStart(2, "0")).join("");
}
