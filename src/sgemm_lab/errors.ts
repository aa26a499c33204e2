// Errors whose message is a plain sentence for the reader: errors.py in TypeScript.

/** Something the reader can fix. The message says what is wrong and what to do. */
export class LabError extends Error {}
