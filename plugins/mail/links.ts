/** The URL with the token as a query parameter; its own query and fragment stay, but for a `token` of its own. */
export function linkWith(base: string, token: string): string {
  const url = new URL(base);
  if (url.searchParams.has('token')) url.searchParams.delete('token');
  const separator = url.search === '' ? '?' : '&';
  url.search += `${separator}token=${token}`;
  return url.href;
}
