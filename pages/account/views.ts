import { find } from '../kit/dom.js';
import { focusHeading, visibleHeading } from '../kit/heading.js';
import { pageAlert } from '../kit/toast.js';

const title = document.title.slice(document.title.indexOf(' · '));

/**
 * Switches between the sections, each with its own URL, without loading the page again. On phones, `home` is the list of sections.
 * @param available the sections that this user can see
 */
export function startViews(available: readonly string[]): void {
  for (const entry of document.querySelectorAll<HTMLElement>('[data-entry]')) {
    entry.hidden = !available.includes(entry.dataset.entry ?? '');
  }

  const [first = ''] = available;
  // A list of one section would only hide what the user must do there.
  const home = available.length > 1 ? 'home' : first;
  find('.back').hidden = home !== 'home';
  const draw = (wanted: string) => {
    const view = available.includes(wanted) ? wanted : home;
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
  const showView = (view: string) => {
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
      showView(link.dataset.to ?? '');
    });
  }
  addEventListener('popstate', () => showView(viewHere()));

  draw(viewHere());
  find('[data-content]').removeAttribute('aria-busy');
  find('.panels').inert = false;
}

function viewHere(): string {
  const path = location.pathname.replace(/\/$/, '');
  const link = [...document.querySelectorAll<HTMLAnchorElement>('.sections [data-to]')].find(
    ({ pathname }) => pathname === path,
  );
  return link?.dataset.to ?? 'home';
}
