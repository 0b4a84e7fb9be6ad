import { callAnonymously } from './api.js';
import { ApiFailure, passwordFailure } from './api-failure.js';
import { find } from './dom.js';
import { showFault } from './form.js';
import { failureText, text } from './texts.js';

interface OwnTexts {
  email?: string | null;
  first_name?: string | null;
  last_name?: string | null;
}

/** Milliseconds without typing after which the password is checked. */
const pause = 400;

/**
 * Says, while the user types a new password, whether the service accepts it, and how strong it is.
 * @param ownTexts what others know about the user, which must not be in the password
 */
export function watchNewPassword(id: string, ownTexts: () => OwnTexts = () => ({})): { clear(): void } {
  const input = find<HTMLInputElement>(`#${id}`);
  const meter = find(`#${id}-strength`);
  let timer: ReturnType<typeof setTimeout> | undefined;

  const show = (level: 0 | 1 | 2 | 3) => {
    const said = level === 0 ? '' : text(`status_strength_${level}`);
    meter.hidden = level === 0;
    meter.dataset.level = String(level);
    meter.setAttribute('aria-valuenow', String(level));
    meter.setAttribute('aria-valuetext', said);
    find('b', meter).textContent = said;
  };
  const check = async () => {
    const password = input.value;
    const { email, first_name, last_name } = ownTexts();
    const own = {
      // The service rejects malformed addresses.
      ...(email && /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email) ? { email } : {}),
      ...(first_name ? { first_name } : {}),
      ...(last_name ? { last_name } : {}),
    };
    // The check is only a convenience: if it fails, the service checks the password when it is sent.
    const rejection = await rejectionOf({ password, ...own }).catch(() => null);
    if (input.value !== password) return;
    if (rejection === null) return show(0);
    show(rejection ? 1 : bitsOf(password) >= 70 ? 3 : 2);
    // Typing has removed an earlier fault. One that is there now is from the service, which has the last word.
    if (rejection) showFault(input, failureText('', rejection));
  };
  input.addEventListener('input', () => {
    clearTimeout(timer);
    showFault(input, '');
    if (input.value === '') return show(0);
    timer = setTimeout(() => void check(), pause);
  });
  return {
    clear: () => {
      clearTimeout(timer);
      show(0);
    },
  };
}

/** Why the service would reject a password; undefined if it accepts it. @param body the password, and what is known about the user */
export async function rejectionOf(body: object): Promise<ApiFailure | undefined> {
  type Check = { data: { reasons: string[] } };
  const { data } = await callAnonymously<Check>('POST', '/auth/password/check', body);
  const [reason] = data.reasons;
  return reason === undefined ? undefined : new ApiFailure(passwordFailure(reason), 'password');
}

/** A rough estimate of the entropy of a password that the service accepts. */
function bitsOf(password: string): number {
  const kinds: [RegExp, number][] = [
    [/[a-z]/, 26],
    [/[A-Z]/, 26],
    [/\d/, 10],
    [/[^a-zA-Z\d]/, 32],
  ];
  const size = kinds.reduce((sum, [kind, count]) => sum + (kind.test(password) ? count : 0), 0);
  return new Set(password).size * Math.log2(size || 1) * 0.8 + password.length;
}
