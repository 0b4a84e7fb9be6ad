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

/** A query string in which objects are JSON. */
export function writeQuery(query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) {
      parameters.append(name, typeof one === 'object' ? JSON.stringify(one) : String(one));
    }
  }
  return parameters.toString();
}
