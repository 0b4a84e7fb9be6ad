import { endSessions } from '../kit/api.js';
import { ApiFailure } from '../kit/api-failure.js';
import { onPress } from '../kit/busy.js';
import { enableCodeFields } from '../kit/code-field.js';
import { enableDialogs, openDialog } from '../kit/dialogs.js';
import { find, leaveTo, withQuery } from '../kit/dom.js';
import { canUsePasskeys } from '../kit/passkey.js';
import { enablePasswordToggles } from '../kit/password-toggle.js';
import { forgetAttempt, restoreQuery, returnedForProof } from '../kit/provider-attempt.js';
import { failureText, text } from '../kit/texts.js';
import { pageAlert, toast } from '../kit/toast.js';
import { startApplications } from './applications.js';
import { showLinkOutcome, startConnections } from './connections.js';
import { startEmail } from './email.js';
import { drawOverview } from './overview.js';
import { canHavePassword, type OwnAccount, readOwnAccount } from './own-account.js';
import { startOwnData } from './own-data.js';
import { page } from './page-data.js';
import { startPasskeys } from './passkeys.js';
import { startPassword } from './password.js';
import { askForName, startProfile } from './profile.js';
import { startSessions } from './sessions.js';
import { startTwoFactor } from './two-factor.js';
import { startViews } from './views.js';

async function start(): Promise<void> {
  await restoreQuery();
  const account = await readOwnAccount(drawOverview);
  await useOwnLanguage(account);
  startProfile(account);
  startEmail(account);
  startPassword(account);
  startTwoFactor(account);
  startOwnData();
  const [views] = await Promise.all([availableViews(account), startPasskeys(account)]);
  startViews(views);
  showOutcome();
  const change = new URLSearchParams(location.search).get('change');
  if (change === 'password' && canHavePassword(account) && !account.mustSetUpTfa) openDialog('password');
  if (change === 'name') askForName(account);
  // A reload must not display the outcome again.
  const { searchParams } = new URL(location.href);
  for (const name of ['reason', 'notice', 'change']) searchParams.delete(name);
  history.replaceState(null, '', `${location.pathname}${searchParams.size > 0 ? `?${searchParams}` : ''}`);
}

/** Users who must set up two-factor authentication first can do nothing else. */
async function availableViews(account: OwnAccount): Promise<readonly string[]> {
  if (account.mustSetUpTfa) return ['security'];
  const [hasConnections] = await Promise.all([startConnections(account), startSessions(), startApplications()]);
  return page.views.filter((view) => view !== 'connections' || hasConnections);
}

async function useOwnLanguage({ me: { language } }: OwnAccount): Promise<void> {
  const isAskedFor = new URLSearchParams(location.search).has('lang');
  const isSpoken = [...document.querySelectorAll<HTMLElement>('.languages a')].some(({ lang }) => lang === language);
  if (isAskedFor || !language || language === page.language || !isSpoken) return;
  await leaveTo(withQuery(location.href, { lang: language }));
}

/** Displays the outcome of what the user has just done at a provider. */
function showOutcome(): void {
  if (!returnedForProof()) showLinkOutcome();
  else if (page.reason !== undefined) pageAlert(failureText('provider', new ApiFailure(page.reason)));
  // Without the notice, the user came back without signing in at the provider.
  else if (new URLSearchParams(location.search).get('notice') === 'proved') toast(text('status_proved'));
  forgetAttempt();
}

function enableSignOut(): void {
  const button = find<HTMLButtonElement>('[data-sign-out]');
  onPress(button, async () => {
    try {
      await endSessions();
      await leaveTo(withQuery(page.links.login, { notice: 'signed-out' }));
    } catch (failure) {
      pageAlert(failureText('account', failure));
    }
  });
  button.disabled = false;
}

// Where browsers refuse passkeys, only users who have some from elsewhere see this part.
if (page.offers.passkeys) find('[data-card=passkeys]').hidden = !canUsePasskeys();
enablePasswordToggles();
enableCodeFields();
enableDialogs();
enableSignOut();
try {
  await start();
} catch (failure) {
  find('[data-content]').hidden = true;
  find('[data-load-again]').hidden = false;
  find('[data-load-again] button').addEventListener('click', () => location.reload());
  pageAlert(failureText('account', failure));
} finally {
  find('[data-loading]').textContent = '';
}
