import { useEffect, useState } from 'react';

/** The token of the link that opened the page. It is removed from the address bar. */
export function useLinkToken(): string {
  const [token] = useState(() => new URLSearchParams(location.search).get('token') ?? '');
  useEffect(() => history.replaceState(null, '', location.pathname), []);
  return token;
}
