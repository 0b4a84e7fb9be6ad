/** Something that takes time while a request is answered: what it is called, and what is known of it. Nothing secret. */
export interface Operation {
  name: string;
  /** Whether somebody else is asked. */
  kind: 'client' | 'internal';
  attributes: Attributes;
  /** Whether it is worth a trace of its own when nothing else is under way. */
  isRoot?: boolean;
}

export type Attributes = Readonly<Record<string, string | number | readonly string[]>>;

/** Says more of an operation, once it is known. */
export type Note = (attributes: Attributes) => void;

/** Does some work, with a look at how long it takes and whether it fails. */
export type Observe = <T>(operation: Operation, work: (note: Note) => Promise<T>) => Promise<T>;

/** Without tracing. */
export const unobserved: Observe = (_operation, work) => work(() => {});

/** A statement. Its values are not in its text. */
export function statementOf(text: string): Operation {
  const operation = /^\s*([a-z]+)/i.exec(text)?.[1]?.toUpperCase() ?? 'SCRIPT';
  return {
    name: operation,
    kind: 'client',
    attributes: {
      'db.system.name': 'postgresql',
      'db.operation.name': operation,
      'db.query.text': text.length > longestText ? `${text.slice(0, longestText)}…` : text,
    },
  };
}

const longestText = 2_000;

/** A command to Redis; not what it is about. */
export const redisCommandOf = (command: string): Operation => ({
  name: command,
  kind: 'client',
  attributes: { 'db.system.name': 'redis', 'db.operation.name': command },
});

/** A request to another server; without its query, in which there may be anything. */
export function requestOf(method: string, to: string): Operation {
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
