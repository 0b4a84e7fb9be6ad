/** Compares what came back with what was sent; the message says where in the journey it went wrong. */
export function expect<T>(found: T, wanted: T, what: string): void {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    throw new Error(`${what}: found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
  }
}

export interface Administrator {
  email: string;
  password: string;
}

/** A filter with nested conditions and a condition on a relation. It matches the user with this address if their title is empty. */
export const nestedFilter = (email: string) => ({
  _and: [
    { email: { _eq: email } },
    { _or: [{ title: { _null: true } }, { role: { name: { _eq: 'Administrator' } } }] },
  ],
});
