import { callInSession } from '../../kit/api.js';
import { ApiFailure } from '../../kit/api-failure.js';
import { page } from '../page-data.js';

/** How the console asks the user to sign in again: opens a dialog, and returns a function that closes it. */
type AskToSignIn = (options: { url: string; tryAgain: () => void; leave: () => void }) => () => void;

let ask: AskToSignIn | undefined;
let waiting: Promise<void> | undefined;
/** Whose console this is. */
let owner: string | undefined;

export function onSessionEnd(handler: AskToSignIn): void {
  ask = handler;
}

export function setOwner(id: string): void {
  owner = id;
}

const signInUrl = `${page.links.login}${page.links.login.includes('?') ? '&' : '?'}${new URLSearchParams({
  redirect: `${page.base}/console/signed-in`,
})}`;

/**
 * Waits until the user has signed in again, in another tab. Requests that fail at the same time wait for the same dialog.
 * @throws {ApiFailure} the given failure, if the user does not want to
 */
export function waitForSession(failure: ApiFailure): Promise<void> {
  waiting ??= askUntilSignedIn(failure).finally(() => {
    waiting = undefined;
  });
  return waiting;
}

async function askUntilSignedIn(failure: ApiFailure): Promise<void> {
  const show = ask;
  if (!show) throw failure;
  await new Promise<void>((resolve, reject) => {
    let isChecking = false;
    const tryAgain = async () => {
      if (isChecking) return;
      isChecking = true;
      try {
        const { data } = await callInSession<{ data: { id: string } }>('GET', '/users/me?fields=id');
        // Another user must not see, or send, what this one has entered.
        if (owner !== undefined && data.id !== owner) location.reload();
        else finish(resolve);
      } catch (error) {
        if (!(error instanceof ApiFailure)) throw error;
      } finally {
        isChecking = false;
      }
    };
    const onReturn = () => {
      if (document.visibilityState === 'visible') void tryAgain();
    };
    const finish = (settle: () => void) => {
      document.removeEventListener('visibilitychange', onReturn);
      removeEventListener('focus', onReturn);
      removeEventListener('storage', onReturn);
      close();
      settle();
    };
    document.addEventListener('visibilitychange', onReturn);
    addEventListener('focus', onReturn);
    addEventListener('storage', onReturn);
    const close = show({ url: signInUrl, tryAgain, leave: () => finish(() => reject(failure)) });
  });
}
