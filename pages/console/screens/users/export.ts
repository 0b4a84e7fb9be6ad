import { type Query, urlOf } from '../../api/client.js';
import { page } from '../../page-data.js';

export type ExportFormat = 'csv' | 'ndjson';

/** Whether the browser can download files of the API itself. In `cookie` mode, only scripts have the access token. */
export const canDownload = page.sessionModes.includes('session');

/** The URL of the list as the API returns it. */
export const listUrl = (query: Query): string =>
  new URL(`${page.base}${urlOf('/users', { query })}`, location.href).href;

/**
 * Downloads the list as a file. The browser itself sends the request, with the session cookie, and writes the response to the disk while it
 * arrives: a file of a million rows needs no memory.
 */
export function download(query: Query, format: ExportFormat): void {
  const link = document.createElement('a');
  link.href = listUrl({ ...query, limit: -1, export: format });
  link.download = '';
  link.click();
}
