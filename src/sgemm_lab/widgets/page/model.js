// @ts-check

/** @typedef {(...values: unknown[]) => void} Callback */

/**
 * What a widget draws from on a page that has no kernel: the state as it was saved, and who listens
 * to its changes. It has the methods of anywidget's model.
 */
export class PageModel {
  /** @type {Record<string, unknown>} */
  #state;
  /** @type {Map<string, Set<Callback>>} */
  #listeners = new Map();

  /** @param {Record<string, unknown>} state */
  constructor(state) {
    this.#state = state;
  }

  /** @param {string} name */
  get(name) {
    return this.#state[name];
  }

  /**
   * Set one key, or several at once.
   * @param {string | Record<string, unknown>} name
   * @param {unknown} [value]
   */
  set(name, value) {
    const changes = typeof name === "object" ? name : { [name]: value };
    const changed = Object.keys(changes).filter((key) => this.#state[key] !== changes[key]);
    Object.assign(this.#state, changes);
    for (const key of changed) this.#emit(`change:${key}`, this.#state[key]);
    if (changed.length) this.#emit("change");
  }

  /**
   * @param {string} names
   * @param {Callback} callback
   */
  on(names, callback) {
    for (const name of names.split(/\s+/)) {
      const there = this.#listeners.get(name) ?? new Set();
      this.#listeners.set(name, there.add(callback));
    }
  }

  /**
   * @param {string} [names] default: all
   * @param {Callback} [callback] default: all
   */
  off(names, callback) {
    for (const name of names ? names.split(/\s+/) : [...this.#listeners.keys()]) {
      if (callback) this.#listeners.get(name)?.delete(callback);
      else this.#listeners.delete(name);
    }
  }

  save_changes() {} // Nobody to save for: there is no kernel.
  send() {}

  /**
   * @param {string} name
   * @param {unknown[]} values
   */
  #emit(name, ...values) {
    for (const callback of [...(this.#listeners.get(name) ?? [])]) callback(this, ...values);
  }
}
