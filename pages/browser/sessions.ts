import { ApiFailure } from './api-failure.js';
import { find } from './dom.js';
import type { OwnAccount } from './own-account.js';
import { page } from './page-data.js';
import { callSignedIn } from './signed-in-api.js';
import { failureText, text } from './texts.js';

interface Session {
  id: string;
  device: string | null;
  address: string | null;
  created_at: string;
  last_used_at: string;
  current: boolean;
}

const listSessions = async () => (await callSignedIn<{ data: Session[] }>('GET', '/users/me/sessions')).data;

/** Lists the sessions of the user, the current one first, and lets the user end one or all of the others. */
export async function showSessions({ mustSetUpTfa }: OwnAccount): Promise<void> {
  if (mustSetUpTfa) return;
  const section = find('[data-section=sessions]');
  const alert = find('[data-alert]', section);
  const status = find('[data-status]', section);
  const endOthers = find<HTMLButtonElement>('[data-end-others]', section);
  let isBusy = false;

  const draw = (sessions: Session[]) => {
    const sorted = [...sessions].sort((a, b) => Number(b.current) - Number(a.current));
    find('[data-sessions]', section).replaceChildren(
      ...sorted.map((session, index) =>
        sessionItem(session, index, () => end(`/users/me/sessions/${session.id}`, 'status_session_ended')),
      ),
    );
    endOthers.hidden = sessions.every(({ current }) => current);
  };

  const end = async (path: string, said: string) => {
    if (isBusy) return;
    isBusy = true;
    section.setAttribute('aria-busy', 'true');
    alert.textContent = '';
    status.textContent = '';
    try {
      const failure = await callSignedIn('DELETE', path).catch((thrown: unknown) => thrown);
      // FORBIDDEN means that the session had already ended, so the list is outdated.
      if (!(failure instanceof ApiFailure) || failure.code === 'FORBIDDEN') draw(await listSessions());
      if (failure) throw failure;
      status.textContent = text(said);
      find('h2', section).focus();
    } catch (failure) {
      alert.textContent = failureText('sessions', failure);
    } finally {
      isBusy = false;
      section.removeAttribute('aria-busy');
    }
  };

  endOthers.addEventListener('click', () => void end('/users/me/sessions', 'status_sessions_ended'));
  try {
    draw(await listSessions());
  } catch (failure) {
    alert.textContent = failureText('account', failure);
  }
  section.hidden = false;
}

function sessionItem(session: Session, index: number, end: () => Promise<void>): HTMLElement {
  const item = document.importNode(find<HTMLTemplateElement>('[data-session]').content, true).firstElementChild;
  if (!(item instanceof HTMLElement)) throw new Error('The template of sessions is empty.');
  const name = find('[data-name]', item);
  const address = find('[data-address]', item);
  const button = find<HTMLButtonElement>('[data-end]', item);
  name.id = `session-${index}-name`;
  address.id = `session-${index}-address`;
  button.id = `session-${index}-end`;
  // Several sessions can have the same device name, so the label of the button includes the address.
  button.setAttribute('aria-labelledby', `${button.id} ${name.id} ${address.id}`);
  name.textContent = session.device ?? text('status_unknown_device');
  address.textContent = session.address ?? '';
  find('[data-when]', item).textContent = [
    text('status_session_used', { date: momentText(session.last_used_at) }),
    text('status_session_begun', { date: momentText(session.created_at) }),
  ].join(' · ');
  find('[data-current]', item).hidden = !session.current;
  button.hidden = session.current;
  button.addEventListener('click', () => void end());
  return item;
}

const momentText = (moment: string) =>
  new Intl.DateTimeFormat(page.language, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(moment));
