// What functions of the host are given where a file has no main: numbers that are made up, and arrays
// of which the checker says later what they hold. Launches of such a function are noted, not run.

import { UNWRITTEN } from "../../simulator/memory.ts";
import type { CudaFile } from "../cuda_file.ts";
import type { Declaration } from "../declarations.ts";
import { resolve } from "../elements.ts";
import { type FoundFunction, functionOf } from "../kernels.ts";
import { calledFunctions } from "../program_text.ts";
import { isSize } from "../signatures.ts";
import { type Field, fieldOf } from "../structs.ts";
import { usualArguments } from "../template_arguments.ts";
import { type Token, textsOf } from "../tokens.ts";
import { numberFor, sizeOf, sizesAmong } from "../usual_numbers.ts";
import type { Block } from "./memory.ts";

/** Bytes of an array; most launches of one call. */
export const MADE_BYTES = 2 ** 20;
export const MOST_LAUNCHES = 16;

interface MadeFunction {
  function: FoundFunction;
  fields: Field[];
  /** the values of its template: "TILE = 16" */
  template: string[];
  /** the numbers that it compares arguments with, by name */
  told: Map<string, number>;
}

export class MadeValues {
  functions: MadeFunction[];
  /** those that are set, by name; others are usual, and sizes as much larger */
  numbers = new Map<string, number>();
  scale = 1;
  /** states of the arrays, by which they are known */
  states = new Set<Uint8Array>();
  /** the function that is called, and the line of its last launch */
  calling: MadeFunction | null = null;
  line = 0;

  constructor(file: CudaFile) {
    this.functions = calledFunctions(file).map((one) => madeFunction(one, file));
  }

  /** Whether the function that is called is given anything. */
  get isMade() {
    return Boolean(this.calling?.fields.length);
  }

  /** Whether a function takes arguments: then smaller constants show nothing more. */
  get takesAnything() {
    return this.functions.some(({ fields }) => fields.length > 0);
  }

  number(which: number, at: number) {
    const one = this.functions[which];
    return this.#numberOf(one.fields[at], one);
  }

  #numberOf(field: Field, { fields, told }: Pick<MadeFunction, "fields" | "told">) {
    const known = new Map([...told, ...this.numbers]);
    return numberFor(field, fields, known, this.scale * sizeOf(sizesAmong(fields).length));
  }

  /** The whole numbers that the function is given, by name, and which of them are sizes. */
  given() {
    const calling = this.calling ?? { fields: [], template: [], told: new Map<string, number>() };
    const { fields, template, told } = calling;
    const whole = fields.filter(isSize);
    const names = sizesAmong(fields).map(({ name }) => name);
    return {
      numbers: new Map(whole.map((one) => [one.name, this.#numberOf(one, calling)])),
      ...{ template, sizes: new Set(names.filter((name) => !told.has(name))) },
    };
  }

  array(block: Block) {
    block.state.fill(UNWRITTEN);
    this.states.add(block.state);
  }

  /** Run with other numbers. */
  with<Found>(numbers: Map<string, number>, run: () => Found): Found {
    const before = this.numbers;
    this.numbers = numbers;
    try {
      return run();
    } finally {
      this.numbers = before;
    }
  }
}

function madeFunction(declaration: Declaration, file: CudaFile): MadeFunction {
  const made = functionOf(declaration, file);
  const fields = made.parameters.map((one) => fieldOf(one, resolve(one.type, file, new Map())));
  const values = usualArguments(declaration, file);
  const template = made.template.map(({ name }, at) => `${name} = ${values[at]}`);
  return { function: made, fields, template, told: toldBy(declaration.tokens, fields) };
}

/** Of `switch (k) { case 128: …` and `k == 128` the number: a function may do nothing for others. */
function toldBy(tokens: Token[], fields: Field[]) {
  const text = textsOf(tokens).join(" ");
  return new Map(
    fields.filter(isSize).flatMap(({ name }): [string, number][] => {
      const pattern = `switch \\( ${name} \\) \\{ case (\\d+)|\\b${name} = = (\\d+)`;
      const [, one, other] = new RegExp(pattern).exec(text) ?? [];
      return Number(one ?? other) > 1 ? [[name, Number(one ?? other)]] : [];
    }),
  );
}
