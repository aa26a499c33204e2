// @ts-check
// What a walk's steps are to its picture and its words. Types alone: nothing of it runs.

/** @typedef {import("../counting/step_trace.js").WalkedArray} WalkedArray */

/**
 * What one thread does to one element. `meant` is the value that it would have with all barriers,
 * `racing` a thread that writes it in the same window. Of a product, `key` is the element of C,
 * `value` the sum after it, and `a` and `b` are its factors.
 * @typedef {object} Entry
 * @property {number} thread
 * @property {number} row
 * @property {number} column
 * @property {number | null} value
 * @property {number | null} meant
 * @property {string} key of the cell
 * @property {Factors} [factors]
 * @property {number} [racing]
 * @property {boolean} [unwritten]
 * @typedef {Record<Matrix, Register>} Factors
 * @typedef {{ value: number | null, meant: number | null }} Register
 *
 * `of` is the number of the step with all barriers, `party` that of the warps that make it.
 * @typedef {{ line: number, window: number, store: boolean, fault: string, of: number,
 *   party: number }} StepHead
 * @typedef {StepHead & { array: WalkedArray, entries: Entry[] }} Step
 * @typedef {"A" | "B"} Matrix
 *
 * The element of A or B that holds a value, `index` its place there.
 * @typedef {{ matrix: Matrix, index: number, row: number, column: number }} Origin
 *
 * Where values come from: by it a product and a copy tell the same k.
 * @typedef {Map<number | null | undefined, Origin>} Origins
 *
 * @typedef {"copy" | "read" | "multiply" | "store" | "fail"} Deed
 *
 * Steps of one kind in a row; `first` is the step before them.
 * @typedef {object} Phase
 * @property {number} first
 * @property {number} last
 * @property {Deed} deed
 * @property {number} turn
 * @property {number} window
 * @property {number} party
 *
 * The stretch between two barriers; `first` is the step before it. Where warps wait in parts: what
 * one party does in a window of time.
 * @typedef {object} Stage
 * @property {number} first
 * @property {number} last
 * @property {number} window
 * @property {number} party
 * @property {Set<Deed>} does
 * @property {string} name
 */

export {};
