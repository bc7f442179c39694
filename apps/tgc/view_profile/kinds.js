// The colours of slices by kind, as SliceKind (lib/view/profile_tracks.h) names them, on light and dark backgrounds.
const kColors = {
  scalar: ["#5f9e4f", "#86c06f"], "scalar memory": ["#a8697f", "#d598ab"], vector: ["#d9a400", "#e3b93a"],
  transcendental: ["#cf6f1c", "#e8904a"], matrix: ["#1f7857", "#3fa57f"], "local memory": ["#3f86b5", "#69aedb"],
  "vector memory": ["#6a64b8", "#9590dc"], branch: ["#b0509a", "#d684c2"], wait: ["#cc4550", "#e2666f"],
  barrier: ["#7d1a12", "#b8473d"], control: ["#8b919c", "#7c828d"], end: ["#4a4d55", "#b3b7c0"],
  other: ["#8b919c", "#7c828d"], wave: ["#4f7fc4", "#6f9bdc"], host: ["#8292a8", "#8fa2bb"],
  kernel: ["#2f7dbd", "#5aa5e0"], copy: ["#9764cf", "#b78ae6"]};
const kDescriptions = {wait: "s_waitcnt and its like: the wave waits for memory", control: "s_clause, s_nop, messages",
  vector: "VALU", scalar: "SALU", "scalar memory": "SMEM", matrix: "WMMA, MFMA", "local memory": "LDS",
  "vector memory": "VMEM: loads and stores of global memory", end: "s_endpgm"};

/** @param {string} kind @param {boolean} isDark */
export function colorOf(kind, isDark) { return (kColors[kind] || kColors.other)[isDark ? 1 : 0]; }
/** @param {string} kind */
export function descriptionOf(kind) { return kDescriptions[kind] || kind; }
