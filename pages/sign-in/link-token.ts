/**
 * Removes the token of an email link from the address bar, where others could see it. The token survives a reload of the
 * page and is passed on when the user switches the language.
 */
export function takeLinkToken(): string | null {
  const url = new URL(location.href);
  const kept: unknown = history.state?.token;
  const token = url.searchParams.get('token') ?? (typeof kept === 'string' ? kept : null);
  if (token === null) return null;
  url.searchParams.delete('token');
  history.replaceState({ ...history.state, token }, '', url);
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.languages a')) {
    link.addEventListener('click', () => {
      const target = new URL(link.href);
      target.searchParams.set('token', token);
      link.href = target.href;
    });
  }
  return token;
}
