import { PGlite } from '@electric-sql/pglite';
import postgres from 'postgres';

type Query = (text: string, parameters: unknown[]) => Promise<Record<string, unknown>[]>;

/** A database driver without any additional layers. */
export interface Connection {
  query: Query;
  transaction<Result>(work: (query: Query) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** For PostgreSQL, opens as many connections as the service does by default; for the embedded database, only one. */
export async function openConnection({
  engine,
  place,
}: {
  engine: 'postgres' | 'embedded';
  place: string;
}): Promise<Connection> {
  if (engine === 'postgres') {
    const sql = postgres(place, { max: 10, onnotice() {} });
    const on =
      (executor: Pick<postgres.Sql, 'unsafe'>): Query =>
      (text, parameters) =>
        executor.unsafe(text, parameters as never[], { prepare: true });
    return {
      query: on(sql),
      transaction: (work) => sql.begin((tx) => work(on(tx))) as Promise<never>,
      close: () => sql.end(),
    };
  }
  const client = await PGlite.create({ dataDir: `${place}/database` });
  const on =
    (executor: Pick<PGlite, 'query'>): Query =>
    async (text, parameters) =>
      (await executor.query<Record<string, unknown>>(text, parameters)).rows;
  return {
    query: on(client),
    transaction: (work) => client.transaction((tx) => work(on(tx as unknown as PGlite))),
    close: () => client.close(),
  };
}
