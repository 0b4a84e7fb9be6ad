import { endSession } from './api.js';
import { ApiFailure } from './api-failure.js';
import { enableRecoveryCodes } from './code-field.js';
import { find, leaveTo, withQuery } from './dom.js';
import { showEmail } from './email.js';
import { showLinkedAccounts, showLinkOutcome } from './linked-accounts.js';
import { readOwnAccount } from './own-account.js';
import { showOwnData } from './own-data.js';
import { page } from './page-data.js';
import { showPassword } from './password.js';
import { enablePasswordToggles } from './password-toggle.js';
import { showProfile } from './profile.js';
import { forgetAttempt, isBackWithProof, restoreQuery } from './provider-attempt.js';
import { showSessions } from './sessions.js';
import { failureText, text } from './texts.js';
import { showTwoFactor } from './two-factor.js';

const alert = find('main > [data-alert]');

async function start(): Promise<void> {
  await restoreQuery();
  const account = await readOwnAccount();
  const { me, mustSetUpTfa } = account;
  const isAskedFor = new URLSearchParams(location.search).has('lang');
  if (!isAskedFor && me.language && me.language !== page.language && isSpoken(me.language)) {
    await leaveTo(withQuery(location.href, { lang: me.language }));
  }
  if (me.email) {
    find('[data-signed-in-as]').textContent = text('status_signed_in_as', { email: me.email });
    for (const input of document.querySelectorAll<HTMLInputElement>('[data-username]')) input.value = me.email;
  }
  const [hasLinks] = await Promise.all([showLinkedAccounts(account), showSessions(account)]);
  showProfile(account);
  showEmail(account);
  showPassword(account);
  showTwoFactor(account);
  showOwnData(account);
  find('[data-must-set-up-tfa]').hidden = !mustSetUpTfa;
  find('[data-content]').hidden = false;
  if (isBackWithProof()) showProofOutcome();
  else if (hasLinks) showLinkOutcome();
  forgetAttempt();
}

/** Displays the outcome of proving the identity through a provider. */
function showProofOutcome(): void {
  const notice = new URLSearchParams(location.search).get('notice');
  if (page.reason !== undefined) alert.textContent = failureText('provider', new ApiFailure(page.reason));
  // Without the notice, the user came back without signing in at the provider.
  else if (notice === 'proved') find('main > [data-status]').textContent = text('status_proved');
  history.replaceState(null, '', page.links.account);
}

const isSpoken = (language: string) =>
  [...document.querySelectorAll<HTMLElement>('.languages a')].some(({ lang }) => lang === language);

function enableSignOut(): void {
  const button = find<HTMLButtonElement>('[data-sign-out]');
  button.addEventListener('click', async () => {
    try {
      await endSession();
      await leaveTo(withQuery(page.links.login, { notice: 'signed-out' }));
    } catch (failure) {
      alert.textContent = failureText('account', failure);
    }
  });
  button.disabled = false;
}

enablePasswordToggles();
enableRecoveryCodes();
enableSignOut();
try {
  await start();
} catch (failure) {
  alert.textContent = failureText('account', failure);
} finally {
  find('[data-loading]').hidden = true;
}
