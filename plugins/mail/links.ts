/** Adds the token to the URL as a query parameter, and keeps the fragment and all other parameters. Replaces an existing `token`. */
export function linkWith(base: string, token: string): string {
  const url = new URL(base);
  if (url.searchParams.has('token')) url.searchParams.delete('token');
  const separator = url.search === '' ? '?' : '&';
  url.search += `${separator}token=${token}`;
  return url.href;
}
