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

/** What is wrong with the host code, or with what came out. */
export interface HostFinding {
  kind: string;
  message: string;
  line: number;
  /** the kernel that has to do with it; "" if none */
  kernel: string;
  isCertain: boolean;
}
