import { find } from './dom.js';
import { pageAlert } from './toast.js';

/** The sections of the account page, each with its own URL. On phones, `home` is the list of sections. */
export type View = 'home' | 'profile' | 'security' | 'sessions' | 'connections';

const title = document.title.slice(document.title.indexOf(' · '));

/** Switches between the sections without loading the page again. @param available the sections that this user can see */
export function startViews(available: ReadonlySet<View>): void {
  for (const entry of document.querySelectorAll<HTMLElement>('[data-entry]')) {
    entry.hidden = !available.has(entry.dataset.entry as View);
  }

  const first: View = available.has('profile') ? 'profile' : 'security';
  // A list of one section would only hide what the user must do there.
  const home: View = available.size > 1 ? 'home' : first;
  find('.back').hidden = home !== 'home';
  const draw = (wanted: View) => {
    const view = available.has(wanted) ? wanted : home;
    const workspace = find('[data-content]');
    workspace.dataset.view = view;
    const panel = view === 'home' ? first : view;
    const isList = !find('.panels').checkVisibility();
    for (const section of document.querySelectorAll<HTMLElement>('[data-panel]')) {
      section.hidden = section.dataset.panel !== panel;
    }
    for (const link of document.querySelectorAll('.sections [data-to]')) {
      if (!isList && link.getAttribute('data-to') === panel) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    document.title = `${visibleHeading()?.textContent ?? ''}${title}`;
  };
  /** Shows a section and moves the focus to its heading. */
  const showView = (view: View) => {
    pageAlert('');
    draw(view);
    scrollTo(0, 0);
    focusHeading();
  };
  for (const link of document.querySelectorAll<HTMLAnchorElement>('[data-to]')) {
    link.addEventListener('click', (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      history.pushState(null, '', link.href);
      showView(link.dataset.to as View);
    });
  }
  addEventListener('popstate', () => showView(viewHere()));

  draw(viewHere());
  find('[data-content]').removeAttribute('aria-busy');
  find('.panels').inert = false;
}

/** For a user whose focus was on something that has disappeared. */
export const focusHeading = (): void => visibleHeading()?.focus();

function visibleHeading(): HTMLElement | undefined {
  const headings = [...document.querySelectorAll<HTMLElement>('[data-content] h1')];
  return headings.find((heading) => heading.checkVisibility()) ?? headings[0];
}

function viewHere(): View {
  const path = location.pathname.replace(/\/$/, '');
  const link = [...document.querySelectorAll<HTMLAnchorElement>('.sections [data-to]')].find(
    ({ pathname }) => pathname === path,
  );
  return (link?.dataset.to as View | undefined) ?? 'home';
}
