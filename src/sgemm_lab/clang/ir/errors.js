// What cannot be translated.

/** A construct that the page's compiler does not know. `line` is 1-based, 0 where unknown. */
export class IrError extends Error {
  /** @param {string} message @param {number} [line] */
  constructor(message, line = 0) {
    super(message);
    this.line = line;
  }
}
