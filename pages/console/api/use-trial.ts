import { useEffect, useState } from 'preact/hooks';
import { ApiFailure } from '../../kit/api-failure.js';

/**
 * Whether the API would perform a request, where the permissions do not say so, because they contain a rule. A dry run finds out.
 * @param name identifies the request. Undefined: it is not tried
 * @returns false until it is known; true if it is not tried
 */
export function useTrial(name: string | undefined, dryRun: () => Promise<unknown>): boolean {
  const [tried, setTried] = useState<{ name: string; isRefused: boolean }>();
  useEffect(() => {
    if (name === undefined) return;
    let isCurrent = true;
    const settle = (isRefused: boolean) => isCurrent && setTried({ name, isRefused });
    dryRun().then(
      () => settle(false),
      (failure) => settle(failure instanceof ApiFailure && failure.code === 'FORBIDDEN'),
    );
    return () => {
      isCurrent = false;
    };
  }, [name]);
  return name === undefined || (tried?.name === name && !tried.isRefused);
}
