import { ApiFailure } from '../kit/api-failure.js';
import { onPress } from '../kit/busy.js';
import { ask } from '../kit/dialogs.js';
import { find, itemOf } from '../kit/dom.js';
import { callSignedIn } from '../kit/signed-in-api.js';
import { failureText, text } from '../kit/texts.js';
import { pageAlert, toast } from '../kit/toast.js';
import { page } from './page-data.js';

interface Session {
  id: string;
  device: string | null;
  address: string | null;
  created_at: string;
  last_used_at: string;
  current: boolean;
  applications: { name: string }[];
}

const listSessions = async () => (await callSignedIn<{ data: Session[] }>('GET', '/users/me/sessions')).data;

/** Lists the sessions of the user, the current one first, and lets the user end one or all of the others. */
export async function startSessions(): Promise<void> {
  const panel = find('[data-panel=sessions]');
  const endOthers = find<HTMLButtonElement>('[data-end-others]', panel);
  let isBusy = false;

  const draw = (sessions: Session[]) => {
    const sorted = [...sessions].sort((a, b) => Number(b.current) - Number(a.current));
    find('[data-sessions]', panel).replaceChildren(
      ...sorted.map((session, index) =>
        sessionItem(session, index, () => endOne(`/users/me/sessions/${session.id}`, 'status_session_ended')),
      ),
    );
    endOthers.hidden = sessions.every(({ current }) => current);
  };

  const end = async (path: string, said: string) => {
    if (isBusy) return;
    isBusy = true;
    panel.setAttribute('aria-busy', 'true');
    try {
      const failure = await callSignedIn('DELETE', path).catch((thrown: unknown) => thrown);
      // FORBIDDEN means that the session had already ended, so the list is outdated.
      if (!(failure instanceof ApiFailure) || failure.code === 'FORBIDDEN') draw(await listSessions());
      if (failure) throw failure;
      toast(text(said));
    } finally {
      isBusy = false;
      panel.removeAttribute('aria-busy');
    }
  };
  const endOne = async (path: string, said: string) => {
    try {
      await end(path, said);
      find('h1', panel).focus();
    } catch (failure) {
      pageAlert(failureText('sessions', failure));
    }
  };

  endOthers.addEventListener('click', () =>
    ask({
      title: text('choice_end_others_title'),
      text: text('choice_end_others'),
      action: endOthers.textContent ?? '',
      scope: 'sessions',
      act: () => end('/users/me/sessions', 'status_sessions_ended'),
    }),
  );
  try {
    draw(await listSessions());
  } catch (failure) {
    pageAlert(failureText('account', failure));
  }
}

function sessionItem(session: Session, index: number, end: () => Promise<void>): HTMLElement {
  const item = itemOf('[data-session]');
  const name = find('[data-name]', item);
  const address = find('[data-address]', item);
  const button = find<HTMLButtonElement>('[data-end]', item);
  name.id = `session-${index}-name`;
  address.id = `session-${index}-address`;
  button.id = `session-${index}-end`;
  // Several sessions can have the same device name, so the label of the button includes the address.
  button.setAttribute('aria-labelledby', `${button.id} ${name.id} ${address.id}`);
  find('use', item).setAttribute('href', `#icon-${iconOf(session.device)}`);
  name.textContent = session.device ?? text('status_unknown_device');
  address.textContent = session.address ?? '';
  find('[data-used]', item).textContent = text('status_session_used', { date: momentText(session.last_used_at) });
  const begun = text('status_session_begun', { date: momentText(session.created_at) });
  find('[data-begun]', item).textContent = session.address ? ` · ${begun}` : begun;
  const applications = find('[data-applications]', item);
  const names = session.applications.map(({ name }) => name);
  applications.hidden = names.length === 0;
  applications.textContent = text('status_session_applications', { names: listText(names) });
  find('[data-current]', item).hidden = !session.current;
  button.hidden = session.current;
  onPress(button, end);
  return item;
}

/** The icon for the name of a browser and system, such as `Firefox, Linux`, or of a program. */
function iconOf(device: string | null): string {
  if (/ipad|tablet/i.test(device ?? '')) return 'tablet';
  if (/android|ios|iphone|phone/i.test(device ?? '')) return 'phone';
  return device !== null && !/windows|mac|linux|chrome os|bsd/i.test(device) ? 'program' : 'desktop';
}

const listText = (names: string[]) => new Intl.ListFormat(page.language).format(names);

const momentText = (moment: string) =>
  new Intl.DateTimeFormat(page.language, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(moment));
