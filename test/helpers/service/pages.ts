import type { FastifyInstance } from 'fastify';
import type { App } from '../../../routes/app.js';
import { pagesByPath } from '../../../routes/pages/pages.js';

/** The paths of all pages, by who can open them. */
export function pagePaths(app: FastifyInstance) {
  // The account page and its sections are computed for each request.
  const accountNames: readonly string[] = ['', ...app.pages.accountViews];
  const pages = Object.entries(pagesByPath(app as unknown as App)).map(([name, page]) => ({
    path: name === '' ? '/account' : `/account/${name}`,
    requiresSession: accountNames.includes(name) || 'returnTo' in page,
    isAccount: accountNames.includes(name),
  }));
  const pathsOf = (chosen: typeof pages) => chosen.map(({ path }) => path);
  const signedIn = pages.filter(({ requiresSession }) => requiresSession);
  return {
    visitor: pathsOf(pages.filter(({ requiresSession }) => !requiresSession)),
    signedIn: pathsOf(signedIn),
    /** Those of `signedIn` that are not the account page. */
    signedInElsewhere: pathsOf(signedIn.filter(({ isAccount }) => !isAccount)),
  };
}
