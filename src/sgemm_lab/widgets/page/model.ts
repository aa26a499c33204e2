type Callback = (...values: unknown[]) => void;

/** A widget's state as it was saved; `buffers` are bytes in base 64 that belong inside it. */
export interface Saved {
  kind: string;
  state: Record<string, unknown>;
  buffers: { path: string[]; data: string }[];
}

/** A saved state with its bytes inside it. */
export function withBuffers({ state, buffers }: Saved) {
  for (const { path, data } of buffers) {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    const owner = path
      .slice(0, -1)
      .reduce((value, key) => value[key] as Record<string, unknown>, state);
    owner[path[path.length - 1]] = new DataView(bytes.buffer);
  }
  return state;
}

/**
 * What a widget draws from on a page that has no kernel: the state as it was saved, and the listeners
 * to its changes. It has the methods of anywidget's model.
 */
export class PageModel {
  #state: Record<string, unknown>;
  #listeners: Map<string, Set<Callback>> = new Map();

  constructor(state: Record<string, unknown>) {
    this.#state = state;
  }

  get(name: string) {
    return this.#state[name];
  }

  /** Set one key, or several at once. */
  set(name: string | Record<string, unknown>, value?: unknown) {
    const changes = typeof name === "object" ? name : { [name]: value };
    const changed = Object.keys(changes).filter((key) => this.#state[key] !== changes[key]);
    Object.assign(this.#state, changes);
    for (const key of changed) this.#emit(`change:${key}`, this.#state[key]);
    if (changed.length) this.#emit("change");
  }

  on(names: string, callback: Callback) {
    for (const name of names.split(/\s+/)) {
      const there = this.#listeners.get(name) ?? new Set();
      this.#listeners.set(name, there.add(callback));
    }
  }

  /**
   * @param names default: all
   * @param callback default: all
   */
  off(names?: string, callback?: Callback) {
    for (const name of names ? names.split(/\s+/) : [...this.#listeners.keys()]) {
      if (callback) this.#listeners.get(name)?.delete(callback);
      else this.#listeners.delete(name);
    }
  }

  save_changes() {} // Nobody to save for: there is no kernel.
  send() {}

  #emit(name: string, ...values: unknown[]) {
    for (const callback of [...(this.#listeners.get(name) ?? [])]) callback(this, ...values);
  }
}
