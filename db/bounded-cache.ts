/**
 * What was made for a name is kept for the next time, but not for more than so many names: callers have a hand in them.
 * @param most how many are kept; what comes when all places are taken is made anew each time
 */
export function keepFew<Value>(most: number): (name: string, make: () => Value) => Value {
  const kept = new Map<string, Value>();
  return (name, make) => {
    const known = kept.get(name);
    if (known !== undefined) return known;
    const made = make();
    if (kept.size < most) kept.set(name, made);
    return made;
  };
}
