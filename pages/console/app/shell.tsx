import { useEffect, useState } from 'preact/hooks';
import { Link, Route, Switch, useLocation } from 'wouter-preact';
import { endSessions } from '../../kit/api.js';
import { Button } from '../components/button.js';
import { Icon } from '../components/icon.js';
import { Empty } from '../components/layout.js';
import { Menu } from '../components/menu.js';
import { Avatar, nameOf } from '../components/person.js';
import { Toasts } from '../components/toast.js';
import { page } from '../page-data.js';
import { t, textIfAny } from '../texts.js';
import { useAccess } from './access.js';
import { LazyScreen, preload } from './lazy-screen.js';
import { Palette, showPalette } from './palette.js';
import { firstScreen, groups, screens } from './screens.js';
import { SessionDialog } from './session-dialog.js';
import { Shortcuts } from './shortcuts.js';

/** The frame of the console: the navigation, and the screen that the URL names. */
export function Shell() {
  const access = useAccess();
  const [path, navigate] = useLocation();
  const [isNavigationOpen, setIsNavigationOpen] = useState(false);
  const open = screens.filter(({ isOpenTo }) => isOpenTo(access));
  const first = firstScreen(access);
  useEffect(() => {
    setIsNavigationOpen(false);
    scrollTo(0, 0);
    history.replaceState({ ...history.state, isOpened: true }, '');
  }, [path]);
  useEffect(() => {
    if (path === '/' && first !== '/') navigate(first, { replace: true });
  }, [path, first]);
  useEffect(() => void preload(open.map(({ load }) => load)), []);

  return (
    <div class={`shell ${isNavigationOpen ? 'is-navigation-open' : ''}`}>
      <a class="skip" href="#content">
        {t('skip')}
      </a>
      <header class="bar-top">
        <Button
          kind="quiet"
          icon={isNavigationOpen ? 'close' : 'menu'}
          label={t('navigation')}
          expanded={isNavigationOpen}
          onPress={() => setIsNavigationOpen(!isNavigationOpen)}
        />
        <Brand />
        <Button kind="quiet" icon="search" label={t('palette_title')} onPress={showPalette} />
      </header>
      <aside class="navigation">
        <div class="navigation-top">
          <Brand />
        </div>
        <button type="button" class="palette-button" onClick={showPalette}>
          <Icon name="search" />
          <span>{t('palette_title')}</span>
          <kbd>Ctrl K</kbd>
        </button>
        <nav aria-label={t('navigation')}>
          {groups.map((group) => {
            const entries = open.filter(({ entry }) => entry?.group === group);
            if (entries.length === 0) return null;
            const title = textIfAny(`nav_group_${group}`);
            return (
              <section key={group}>
                {title && <p class="navigation-title">{title}</p>}
                <ul aria-label={title}>
                  {entries.map(({ paths: [place], entry }) => (
                    <li key={place}>
                      <Link
                        href={place}
                        aria-current={path === place || path.startsWith(`${place}/`) ? 'page' : undefined}
                      >
                        <Icon name={entry?.icon ?? 'info'} />
                        {entry && t(entry.text)}
                      </Link>
                    </li>
                  ))}
                </ul>
              </section>
            );
          })}
        </nav>
        <Person />
      </aside>
      <main id="content" tabIndex={-1}>
        <Switch>
          {open.flatMap(({ paths, load }) =>
            paths.map((pattern) => (
              <Route key={pattern} path={pattern}>
                {(params) => <LazyScreen load={load} params={params as Record<string, string | undefined>} />}
              </Route>
            )),
          )}
          <Route>
            {path === '/' && first === '/' ? (
              <Empty icon="lock" title={t('no_access_title')}>
                {t('no_access')}
              </Empty>
            ) : path === '/' ? null : (
              <Empty
                icon="search"
                title={t('not_found_title')}
                action={<Link href={first}>{t('not_found_action')}</Link>}
              >
                {t('not_found')}
              </Empty>
            )}
          </Route>
        </Switch>
      </main>
      <Toasts />
      <Palette />
      <Shortcuts />
      <SessionDialog />
    </div>
  );
}

const Brand = () => (
  <span class="brand">
    {page.logo ? <img class="brand-logo" src={page.logo} alt="" /> : <span class="brand-mark" aria-hidden="true" />}
    <span class="brand-name">{page.project}</span>
  </span>
);

/** Who is signed in, and what concerns only them. */
function Person() {
  const { me } = useAccess();
  return (
    <div class="person">
      <Avatar person={me} />
      <span class="person-name" title={nameOf(me, me.id)}>
        {nameOf(me, me.id)}
      </span>
      <Menu
        label={t('own_menu')}
        kind="quiet"
        items={[
          { text: t('own_account'), icon: 'user', onSelect: () => location.assign(page.links.account) },
          ...page.languages.map(({ tag, name }) => ({
            text: name,
            onSelect: () => {
              const url = new URL(location.href);
              url.searchParams.set('lang', tag);
              location.assign(url);
            },
          })),
          {
            text: t('sign_out_action'),
            icon: 'signOut',
            onSelect: async () => {
              await endSessions();
              // Drafts belong to the user who wrote them.
              sessionStorage.clear();
              location.assign(page.links.login);
            },
          },
        ]}
      />
    </div>
  );
}
