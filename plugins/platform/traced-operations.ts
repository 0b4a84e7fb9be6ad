/** An operation that takes time, such as a database statement. Its name and attributes must not contain secrets. */
export interface TracedOperation {
  name: string;
  /** `client` for a request to another system. */
  kind: 'client' | 'internal';
  attributes: Attributes;
  /** Whether to start a new trace if there is no current one. */
  isRoot?: boolean;
}

export type Attributes = Readonly<Record<string, string | number | readonly string[]>>;

/** Adds attributes to an operation. */
export type Note = (attributes: Attributes) => void;

/** Runs work, and records its duration and whether it failed. */
export type Observe = <T>(operation: TracedOperation, work: (note: Note) => Promise<T>) => Promise<T>;

/** For use without tracing. */
export const unobserved: Observe = (_operation, work) => work(() => {});

/** An SQL statement. Its text does not contain the values of parameters. */
export function statementOf(text: string): TracedOperation {
  const operation = /^\s*([a-z]+)/i.exec(text)?.[1]?.toUpperCase() ?? 'SCRIPT';
  return {
    name: operation,
    kind: 'client',
    attributes: {
      'db.system.name': 'postgresql',
      'db.operation.name': operation,
      'db.query.text': shorten(text),
    },
  };
}

const maxTextLength = 2_000;

/** Shortens the text of a statement. */
export const shorten = (text: string): string =>
  text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text;

/** A Redis command, without its arguments. */
export const redisCommandOf = (command: string): TracedOperation => ({
  name: command,
  kind: 'client',
  attributes: { 'db.system.name': 'redis', 'db.operation.name': command },
});

/** A request to another server. The recorded URL has no query, because a query may contain secrets. */
export function requestOf(method: string, to: string): TracedOperation {
  const { protocol, hostname, port, origin, pathname } = new URL(to);
  return {
    name: method,
    kind: 'client',
    attributes: {
      'http.request.method': method,
      'server.address': hostname,
      'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
      'url.full': `${origin}${pathname}`,
    },
  };
}
