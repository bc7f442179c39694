/** Returns an SVG element. @param {string} tag @param {Record<string, string | number>} facts its attributes */
export function svgNode(tag, facts, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(facts)) made.setAttribute(key, String(value));
  made.textContent = text;
  return made;
}

/** Returns a rate with its unit prefix, in three digits: "61.4 T". @param {number} n */
export function rateText(n) {
  const [least, letter] = n >= 1e12 ? [1e12, "T"] : n >= 1e9 ? [1e9, "G"] : n >= 1e6 ? [1e6, "M"]
    : n >= 1e4 ? [1e3, "k"] : [1, ""];
  return Number((n / least).toPrecision(3)) + " " + letter;
}
