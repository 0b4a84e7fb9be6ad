import { accessItems } from '../kit/access.js';
import { callWithCookie, endSessions } from '../kit/api.js';
import { onPress } from '../kit/busy.js';
import { find, leaveTo } from '../kit/dom.js';
import { handleForm } from '../kit/form.js';
import { failureText } from '../kit/texts.js';
import { page } from './page-data.js';

/** Asks the user whether an application may have access, and returns them to it. */
export function startConsent(): void {
  if (page.access) find('[data-access]').replaceChildren(...accessItems(page.access));
  const decide = async (allow: boolean) => {
    const path = `/account/authorize/${page.request}`;
    const { data } = await callWithCookie<{ data: { redirect: string } }>('POST', path, { allow });
    await leaveTo(data.redirect);
  };
  handleForm('#consent', 'consent', () => decide(true));
  const reporting = (act: () => Promise<void>) => async () => {
    try {
      await act();
    } catch (failure) {
      find('[data-alert]').textContent = failureText('consent', failure);
    }
  };
  onPress(
    find('[data-deny]'),
    reporting(() => decide(false)),
  );
  onPress(
    find('[data-other-account]'),
    reporting(async () => {
      await endSessions();
      await leaveTo(location.href);
    }),
  );
}
