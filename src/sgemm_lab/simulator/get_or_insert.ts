// What Map.prototype.getOrInsertComputed will do, where it is there.

/** The value of a key; where there is none it is made. */
export function getOrInsert<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
