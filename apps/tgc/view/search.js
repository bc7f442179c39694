// What the search field asks for: words, op:NAME, dtype:NAME, rule:NAME, arg:TEXT, #number, /regular expression/.
/** @typedef {import("./data.js").Recorded} Recorded */

/** @typedef {{empty: boolean, error: string, node: (g: Recorded, n: number) => boolean, rule: (name: string) => boolean,
 *   line: (text: string) => boolean}} Query */

/** @param {string} text @returns {Query} */
export function queryOf(text) {
  const parts = text.match(/\/(?:\\.|[^/\\])+\/|\S+/g) || [], nodes = [], rules = [], lines = [];
  let error = "";
  for (const part of parts) {
    const pair = /^(op|dtype|rule|arg):(.*)$/i.exec(part);
    let says;
    if (/^\/.+\/$/.test(part)) {
      try {
        const regex = new RegExp(part.slice(1, -1), "i");
        says = (t) => regex.test(t);
      } catch (e) {
        error = "no regular expression: " + part;
        says = () => false;
      }
    } else {
      const word = (pair ? pair[2] : part).toLowerCase();
      says = (t) => t.toLowerCase().includes(word);
    }
    const kind = pair ? pair[1].toLowerCase() : part.startsWith("#") ? "number" : "any";
    if (kind === "op") nodes.push((g, n) => g.opName(n).toLowerCase() === pair[2].toLowerCase() || pair[2].endsWith("*") && g.opName(n).toLowerCase().startsWith(pair[2].slice(0, -1).toLowerCase()));
    else if (kind === "dtype") nodes.push((g, n) => says(g.dtypeName(n)));
    else if (kind === "arg") nodes.push((g, n) => says(g.argText(n)));
    else if (kind === "number") nodes.push((g, n) => "#" + g.number[n] === part);
    else if (kind === "rule") rules.push(says);
    else nodes.push((g, n) => says(g.opName(n)) || says(g.dtypeName(n)) || says(g.argText(n))), rules.push(says), lines.push(says);
  }
  const all = (list, ...args) => list.length > 0 && list.every((f) => f(...args));
  const asksRules = parts.some((p) => /^rule:/i.test(p)), asksNodes = parts.some((p) => /^(op|dtype|arg):|^#/i.test(p));
  return {empty: !parts.length, error,
    node: (g, n) => !asksRules && all(nodes, g, n),
    rule: (name) => !asksNodes && all(rules, name),
    line: (t) => !asksRules && !asksNodes && all(lines, t)};
}
