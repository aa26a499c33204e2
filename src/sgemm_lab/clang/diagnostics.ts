// What clang says of a source, as lines and sentences.

export interface SourceError {
  line: number;
  text: string;
}

const PLACE = /^(.+?):(\d+):\d+: (fatal error|error|note): (.*)$/;
const ASSERTION = /^static assertion failed(?: due to requirement '.*?')?: (.*)$/;

/**
 * The errors among clang's messages. One that lies in the header counts for the line of the
 * source that a note behind it names.
 */
export function readDiagnostics(messages: string, file: string): SourceError[] {
  const errors: SourceError[] = [];
  let open = false;
  for (const message of messages.split("\n")) {
    const found = PLACE.exec(message);
    if (!found) continue;
    const own = found[1].replace(/^\.\//, "") === file;
    const line = own ? Number(found[2]) : 0;
    if (found[3] !== "note") {
      errors.push({ line, text: sentence(found[4]) });
      open = !own;
    } else if (open && own) {
      errors[errors.length - 1].line = line;
      open = false;
    }
  }
  if (errors.length) return errors;
  const last = messages.trim().split("\n").at(-1) ?? "";
  return [{ line: 0, text: `The compiler gave up: ${last}` }];
}

function sentence(text: string): string {
  const assertion = ASSERTION.exec(text);
  if (assertion) return assertion[1];
  if (text === "address of vector element requested") {
    return "clang gives no address of a component such as &v.x. Take the vector's: (float*)&v.";
  }
  return text;
}
