// Gives each distinct text a number, from 0 in the order of first use.
export class TextNumbering {
  constructor() { /** @type {Map<string, number>} */ this.numbers = new Map(); }
  /** @param {string} text */
  number(text) {
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    this.numbers.set(text, this.numbers.size);
    return this.numbers.size - 1;
  }
}
