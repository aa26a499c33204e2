// Why a host program is not followed any further.

/** The program cannot be followed from here on. */
export class UnfollowedError extends Error {}

/** The program takes too long or too much memory, which smaller constants may help. */
export class TooLargeError extends UnfollowedError {}

/** The program does what no right program does, at a line. */
export class ProgramFault extends Error {
  constructor(
    message: string,
    public kind: string,
  ) {
    super(message);
  }
}
