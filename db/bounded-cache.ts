/**
 * Caches a value for each name. The cache is bounded, because callers can influence the names. Once it is full, it drops the name that
 * has not been used for the longest time, so that names that a caller made up do not keep out those in use.
 * @param max maximum number of cached values
 */
export function createBoundedCache<Value>(max: number): (name: string, make: () => Value) => Value {
  /** The least recently used name comes first. */
  const kept = new Map<string, Value>();
  return (name, make) => {
    const value = kept.get(name) ?? make();
    kept.delete(name);
    kept.set(name, value);
    const [oldest] = kept.keys();
    if (kept.size > max && oldest !== undefined) kept.delete(oldest);
    return value;
  };
}
