// What cannot be translated.

/** A construct that the page's compiler does not know. `line` is 1-based, 0 where unknown. */
export class IrError extends Error {
  constructor(
    message: string,
    public line: number = 0,
  ) {
    super(message);
  }
}
