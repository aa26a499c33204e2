// What a reader's browser stores for the book. A browser may refuse to: then there is nothing.

/** The text stored under a key, "" without one. */
export function storedText(key: string): string {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

/** Store a text; an empty one takes the key away. */
export function storeText(key: string, text: string): void {
  try {
    if (text) localStorage.setItem(key, text);
    else localStorage.removeItem(key);
  } catch {
    // The page works without it.
  }
}

/** The entries stored under a key. */
export function storedEntries<T>(key: string): Record<string, T> {
  try {
    return Object(JSON.parse(storedText(key) || "{}"));
  } catch {
    return {}; // not written by this book
  }
}
