// A source that does not compile.

import { LabError } from "../errors.ts";

/** The source does not compile: at a line of the file, or at none. */
export class SourceError extends LabError {
  constructor(
    text: string,
    public line: number,
  ) {
    super(text);
  }

  /** What a compiler says first. */
  static of([first]: { text: string; line: number }[]) {
    return new SourceError(first?.text ?? "The compiler does not say why.", first?.line ?? 0);
  }
}
