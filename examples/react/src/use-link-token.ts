import { useEffect, useState } from 'react';

/**
 * The token of the link that opened the page. It moves from the address bar to the state of the history, where a reload
 * finds it.
 */
export function useLinkToken(): string {
  const [token] = useState<string>(
    () => new URLSearchParams(location.search).get('token') ?? history.state?.token ?? '',
  );
  useEffect(() => history.replaceState({ token }, '', location.pathname), [token]);
  return token;
}
