import type { Page } from './service.js';

/**
 * The sections of the account page, in the order of the navigation. Each has a template, and an icon (`icon-<name>`) and a title
 * (`<name>_title`) of its name.
 */
export const accountViews = ['profile', 'security', 'sessions', 'connections', 'applications'] as const;
type AccountView = (typeof accountViews)[number];

/**
 * The account page.
 * @param view the section to show. Without it, the page shows the list of sections on phones.
 * @param continueTo the application whose request waits until the user has set up a second factor, and where the request continues
 */
export const accountPage = (view?: AccountView, continueTo?: { application: string; href: string }): Page => ({
  application: 'account',
  name: 'account',
  returnTo: view === undefined ? '/account' : `/account/${view}`,
  showsLogos: true,
  add: (shared) => {
    const offers = {
      ...shared.offers,
      // For users who are not administrators.
      selfService: shared.project.self_service,
      selfDeletion: shared.project.self_deletion,
    };
    // The page loads again after the setup, with the URL of the section that the user is in.
    const sectionUrl = (name: string) => {
      const url = shared.urlOf(`/${name}`);
      if (!continueTo) return url;
      return `${url}${url.includes('?') ? '&' : '?'}${new URLSearchParams({ redirect: continueTo.href })}`;
    };
    const hasConnections = shared.providers.some(({ session }) => session);
    return {
      view: {
        offers,
        continue_to: continueTo,
        view: view ?? 'home',
        views: accountViews.map((name) => ({
          name,
          href: sectionUrl(name),
          is_hidden: name === 'connections' && !hasConnections,
        })),
      },
      data: { offers, views: accountViews },
    };
  },
});
