import type { Item } from '../../db/queries/items/items.js';
import type { FieldTree } from '../../db/query-language/fields.js';
import type { ExportFormat } from '../../schemas/item-requests.js';

/** How items are written to a file. */
export interface ExportWriter {
  mediaType: string;
  /** What the file begins with. */
  head: string;
  write(items: readonly Item[]): string;
}

/** @param isList whether a followed relation is a list of items, given the path to it */
export const exportWriters: Record<ExportFormat, (fields: FieldTree, isList: IsList) => ExportWriter> = {
  ndjson: () => ({
    mediaType: 'application/x-ndjson',
    head: '',
    write: (items) => items.map((item) => `${JSON.stringify(item)}\n`).join(''),
  }),
  csv: (fields, isList) => {
    const columns = [...columnsOf(fields, isList)];
    return {
      mediaType: 'text/csv; charset=utf-8',
      head: rowOf(columns.map((path) => path.join('.'))),
      write: (items) => items.map((item) => rowOf(columns.map((path) => valueAt(item, path)))).join(''),
    };
  },
};

type IsList = (path: readonly string[]) => boolean;
type Path = readonly string[];

/** A column for each value: those of a related item have columns of their own, and those of several items share one. */
function* columnsOf(fields: FieldTree, isList: IsList, path: Path = []): Generator<Path> {
  for (const [name, subtree] of fields) {
    const inner = [...path, name];
    if (subtree && !isList(inner)) yield* columnsOf(subtree, isList, inner);
    else yield inner;
  }
}

const valueAt = (item: unknown, [name, ...rest]: Path): unknown =>
  name === undefined ? item : valueAt((item as Item | null | undefined)?.[name], rest);

/** A record of RFC 4180. */
const rowOf = (values: readonly unknown[]): string => `${values.map(cellOf).join()}\r\n`;

/** Characters with which a spreadsheet recognizes a formula (OWASP, CSV Injection), also in their full-width forms. */
const formula = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;

/**
 * A value of a record. Null is an empty cell, and an empty text is a quoted one. A text that a spreadsheet would evaluate as a formula gets
 * an apostrophe in front of it, which makes it a text.
 */
function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return quoted(typeof value === 'object' ? JSON.stringify(value) : String(value));
  return quoted(formula.test(value) ? `'${value}` : value);
}

const quoted = (text: string): string =>
  text === '' || /[",\r\n\t]|^[\s']|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
