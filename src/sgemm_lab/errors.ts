// Errors whose message is a plain sentence for the reader: errors.py in TypeScript.

/** Something the reader can fix. The message says what is wrong and what to do. */
export class LabError extends Error {}

/** What a function gives; null where it throws a LabError. */
export function orNull<Found>(run: () => Found): Found | null {
  try {
    return run();
  } catch (error) {
    if (error instanceof LabError) return null;
    throw error;
  }
}
