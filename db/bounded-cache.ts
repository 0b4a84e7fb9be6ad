/**
 * Caches a value for each name. The cache is bounded, because callers can influence the names.
 * @param max maximum number of cached values; once the cache is full, values for further names are created each time
 */
export function createBoundedCache<Value>(max: number): (name: string, make: () => Value) => Value {
  const kept = new Map<string, Value>();
  return (name, make) => {
    const known = kept.get(name);
    if (known !== undefined) return known;
    const made = make();
    if (kept.size < max) kept.set(name, made);
    return made;
  };
}
