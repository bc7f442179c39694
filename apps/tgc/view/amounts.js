/** Formats an amount with one of the unit prefixes k, M and G, or without one: "1.50 MB".
 * @param {number} n @param {string} unit */
export function amountText(n, unit) {
  for (const [least, letter] of /** @type {[number, string][]} */ ([[1e9, "G"], [1e6, "M"]]))
    if (n >= least) return (n / least).toFixed(2) + " " + letter + unit;
  return (n >= 1e3 ? (n / 1e3).toFixed(1) + " k" : Math.round(n) + " ") + unit;
}

/** Formats seconds in s, ms, microseconds or ns with `digits` significant digits.
 * @param {number} s seconds @param {number} digits that count */
export function timeText(s, digits = 3) {
  const [unit, of] = s >= 1 ? ["s", 1] : s >= 1e-3 ? ["ms", 1e3] : s >= 1e-6 ? ["\u00b5s", 1e6] : ["ns", 1e9];
  return s ? Number((s * of).toPrecision(digits)) + "\u00a0" + unit : "0";
}

/** Returns a count with its noun: "1 node", "2 nodes".
 * @param {number} count @param {string} what @param {string} many */
export function countText(count, what, many = what + "s") { return count + " " + (count === 1 ? what : many); }
