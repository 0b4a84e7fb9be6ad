/**
 * Takes the token of a link in a mail out of the address bar, where others could see it, and from the history. It stays in
 * the memory of the page, and goes along when the page is asked for in another language.
 */
export function takeLinkToken(): string | null {
  const url = new URL(location.href);
  const token = url.searchParams.get('token');
  if (token === null) return null;
  url.searchParams.delete('token');
  history.replaceState(null, '', url);
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.languages a')) {
    link.addEventListener('click', () => {
      const target = new URL(link.href);
      target.searchParams.set('token', token);
      link.href = target.href;
    });
  }
  return token;
}
