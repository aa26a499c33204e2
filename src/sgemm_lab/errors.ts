// Errors whose message is a plain sentence for the reader: errors.py in JavaScript.

/** Something the reader can mend. The message says what is wrong and what to do. */
export class LabError extends Error {}
