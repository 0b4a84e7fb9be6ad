import { type AuthenticationResponseJSON, browserSupportsWebAuthnAutofill } from '@simplewebauthn/browser';
import { callWithCookie } from '../kit/api.js';
import { ApiFailure } from '../kit/api-failure.js';
import { onPress } from '../kit/busy.js';
import { enableCodeFields } from '../kit/code-field.js';
import { find } from '../kit/dom.js';
import { canUsePasskeys, reportUnknownPasskey, usePasskey } from '../kit/passkey.js';
import { failureText } from '../kit/texts.js';
import { rememberWay } from './last-way.js';
import { page } from './page-data.js';
import { showPart } from './parts.js';
import { signIn } from './sign-in.js';

/** Milliseconds. A challenge is valid for a little longer. */
const renewedAfterMs = 240_000;

/** Lets users sign in with a passkey: with a button, or from the suggestions that the browser shows in the email address field. */
export function startPasskeyLogin(settled: Promise<void>): void {
  if (!canUsePasskeys()) return;
  const form = find('[data-part=form]');
  const alert = find('[data-alert]', form);

  const complete = async (credential: AuthenticationResponseJSON) => {
    await settled;
    alert.textContent = '';
    prepareCode(startOver);
    const login = async (otp?: string) => {
      await callWithCookie('POST', '/auth/passkey', { credential, mode: 'session', ...(otp ? { otp } : {}) });
      rememberWay('passkey');
    };
    await signIn(login, page.redirect, handleFailure).catch(async (failure: unknown) => {
      throw await reportUnknownPasskey(credential.id, failure);
    });
  };
  const explain = (failure: unknown) => {
    alert.textContent = failureText('passkey', failure);
  };
  const startOver = () => {
    showPart('form');
    void startSuggestions();
  };
  /** If the passkey is no longer accepted, for example because the user took too long to enter the code, a code is of no use. */
  const handleFailure = (failure: unknown): boolean => {
    if (!form.hidden || !(failure instanceof ApiFailure) || failure.code !== 'INVALID_CREDENTIALS') return false;
    startOver();
    explain(failure);
    return true;
  };

  /** The button ends the suggestions, so they start again after it. They also restart with a new challenge before the old one expires. */
  const suggest = async () => {
    const timer = setTimeout(suggest, renewedAfterMs);
    const credential = await usePasskey(true).catch(() => undefined);
    clearTimeout(timer);
    if (credential) await complete(credential).catch(explain);
  };
  const startSuggestions = async () => {
    const hasField = document.querySelector('input[autocomplete$=webauthn]') !== null;
    if (hasField && (await browserSupportsWebAuthnAutofill())) await suggest();
  };

  onPress(find('[data-passkey-sign-in]'), async () => {
    alert.textContent = '';
    try {
      await complete(await usePasskey());
    } catch (failure) {
      explain(failure);
      void startSuggestions();
    }
  });
  for (const place of document.querySelectorAll<HTMLElement>('[data-passkey]')) place.hidden = false;
  void startSuggestions();
}

/** Adds the form for a code, which `signIn` shows if the authenticator has not verified the user. */
function prepareCode(startOver: () => void): void {
  const template = document.querySelector<HTMLTemplateElement>('[data-passkey-code]');
  if (!template) return;
  template.replaceWith(template.content);
  const part = find('[data-part=code]');
  enableCodeFields(part);
  find('[data-leave]', part).addEventListener('click', startOver);
}
