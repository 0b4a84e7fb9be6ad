import type { Executor } from '../../db/client.js';
import { findLoginNetwork } from '../../db/queries/sessions/logins.js';
import type { KnownBrowsers } from '../tokens/known-browsers.js';
import type { RequestOrigin } from './jobs.js';

/**
 * Whether the user with an email address has signed in before from the network or the browser that requests an email. Such emails have
 * limits of their own, so that requests from elsewhere cannot use these up.
 */
export type IsFamiliar = (email: string, origin: RequestOrigin) => Promise<boolean>;

export const createFamiliarOrigins =
  (db: Executor, knownBrowsers: Pick<KnownBrowsers, 'knows'>): IsFamiliar =>
  async (email, { requestedFrom = '', browser }) => {
    const found = await findLoginNetwork(db, email, requestedFrom);
    return (
      found !== undefined && (found.isKnown || (browser !== undefined && knownBrowsers.knows(browser, found.user)))
    );
  };
