import { type Access, accessItems } from '../kit/access.js';
import { callWithCookie } from '../kit/api.js';
import { onPress } from '../kit/busy.js';
import { find } from '../kit/dom.js';
import { handleForm } from '../kit/form.js';
import { failureText, text } from '../kit/texts.js';
import { page } from './page-data.js';

/** What a device asks for. */
interface Request {
  client: string;
  host: string | null;
  access: Access;
}

const show = (name: 'code' | 'decision' | 'done' | 'declined') => {
  for (const part of document.querySelectorAll<HTMLElement>('[data-part]')) part.hidden = part.dataset.part !== name;
  find(`[data-part=${name}] h1`).focus();
};

/** Connects a device that shows a code (RFC 8628). The user always enters, or at least confirms, the code. */
export function startDevice(): void {
  const field = find<HTMLInputElement>('#user-code');
  let code = '';
  if (page.userCode !== undefined) field.value = page.userCode;
  field.focus();

  handleForm('#device', 'device', async ({ user_code = '' }) => {
    code = user_code;
    const { data } = await callWithCookie<{ data: Request }>('POST', '/account/device', { user_code });
    find('[data-title]').textContent = text('status_consent_title', { client: data.client });
    const host = find('[data-host]');
    host.hidden = data.host === null;
    host.textContent = data.host ?? '';
    find('[data-shown-code]').textContent = code;
    find('[data-access]').replaceChildren(...accessItems(data.access));
    show('decision');
  });
  const decide = (allow: boolean) => async () => {
    try {
      await callWithCookie('POST', '/account/device', { user_code: code, allow });
      show(allow ? 'done' : 'declined');
    } catch (failure) {
      find('[data-part=decision] [data-alert]').textContent = failureText('device', failure);
    }
  };
  onPress(find('[data-allow]'), decide(true));
  onPress(find('[data-deny]'), decide(false));
}
