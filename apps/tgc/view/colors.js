// Colours of the ops of all releases, and of ranges by axis type. Most ops have the colour of tinygrad's VIZ.

const kOpsByColor = {
  "#ffc0c0": "LOAD", "#87ceeb": "STORE", "#909090": "ASSIGN REWRITE_ERROR",
  "#e0e0e0": "CONST VCONST UNIQUE LUNIQUE DEVICE",
  "#cb9037": "DEFINE_GLOBAL", "#f2cb91": "DEFINE_LOCAL DEFINE_REG", "#c0c0ff": "SPECIAL DEFINE_VAR BIND",
  "#ff5b5b": "REDUCE SHAPED_WMMA", "#ff6b6b": "REDUCE_AXIS", "#efefc0": "WMMA", "#cef263": "INDEX",
  "#c8a0e0": "RANGE", "#ff8080": "BARRIER WAIT", "#c8b0c0": "IF ENDIF", "#8a7866": "AFTER GROUP",
  "#524c46": "END ENDRANGE BLOCK BLOCKSTART BLOCKEND BLOCKFINAL",
  "#ffffc0": "EXP2 LOG2 SIN SQRT RECIPROCAL RECIP NEG TRUNC "
    + "ADD MUL IDIV CDIV FLOORDIV MAX MOD CMOD FLOORMOD CMPLT CMPNE CMPEQ XOR SHL SHR OR AND SUB FDIV POW WHERE MULACC",
  "#ffe9c4": "CAST BITCAST PRECAST", "#ffff80": "THREEFRY",
  "#d8f9e4": "RESHAPE EXPAND PERMUTE PAD SHRINK FLIP STACK VECTORIZE GEP CAT PTRCAT VCAT VIEW VALID",
  "#c9efef": "UNROLL CONTRACT TUPLE GETTUPLE", "#f6ccff": "MULTI UNSHARD", "#eec4ff": "INS", "#e5eaff": "BUFFER_VIEW",
  "#b0bdff": "BUFFER", "#9db1f0": "GETADDR", "#a040a0": "COPY", "#bf71b6": "ENCDEC CUSTOM_FUNCTION CUSTOM CUSTOMI",
  "#ff40a0": "ALLREDUCE", "#d040a0": "MSELECT MSTACK", "#ffc14d": "CONTIGUOUS CONTIGUOUS_BACKWARD DETACH FUSE",
  "#ff991c": "BUFFERIZE", "#ac640d": "STAGE", "#3e7f55": "KERNEL", "#3ebf55": "CUSTOM_KERNEL",
  "#80ffc0": "CHILD CHILDREN",
  "#00b7c8": "CALL", "#c07788": "FUNCTION", "#14686f": "PARAM", "#c0c0c0": "SOURCE PYLITERAL", "#404040": "BINARY",
  "#7df4ff": "LINEAR PROGRAM", "#d8dde3": "SINK NOOP"};
const kOps = {};
for (const [color, ops] of Object.entries(kOpsByColor)) for (const op of ops.split(" ")) kOps[op] = color;

/** @param {string} op */
export function colorOfOp(op) { return kOps[op] || "#ffffff"; }

const kAxisColors = {GLOBAL: "#3b82f6", WARP: "#06b6d4", LOCAL: "#0891b2", LOOP: "#6b7280", WEAK: "#9aa1ac",
  GROUP_REDUCE: "#dc2626", REDUCE: "#ef4444", UPCAST: "#eab308", UNROLL: "#a855f7", THREAD: "#2563eb", OUTER: "#0d9488",
  DEVICE: "#16a34a", PLACEHOLDER: "#9ca3af"};
/** @param {string} arg of a RANGE */
export function colorOfRange(arg) { return kAxisColors[(/AxisType\.(\w+)/.exec(arg) || ["", ""])[1]] || "#9ca3af"; }

/** Returns the colour, darkened so that a dot of it can be seen on a light background. */
export function darkened(color) {
  const parts = [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16))
    .map((c) => Math.round(Math.max(0, 255 - (255 - c) * 2.4) * 0.93));
  return "#" + parts.map((c) => c.toString(16).padStart(2, "0")).join("");
}

/** Mixes two colours "#rrggbb". `part`: the share of `b`, from 0 to 1. @param {number} part */
export function mixColors(a, b, part) {
  const [x, y] = [a, b].map((c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)));
  return "#" + x.map((v, i) => Math.round(v + (y[i] - v) * part).toString(16).padStart(2, "0")).join("");
}
