import { find, setText } from '../kit/dom.js';
import { labelOf } from '../kit/providers.js';
import { text } from '../kit/texts.js';
import { canHavePassword, type OwnAccount } from './own-account.js';
import { page } from './page-data.js';

/** Displays the state of the account: who the user is, and how the account is protected. */
export function drawOverview(account: OwnAccount): void {
  const { me, mustSetUpTfa, managedBy, hasSelfService } = account;
  const name = [me.first_name, me.last_name].filter(Boolean).join(' ');
  const setAll = (selector: string, content: string) => {
    for (const place of document.querySelectorAll(selector)) setText(place, content);
  };
  const showIf = (selector: string, isShown: boolean) => {
    for (const place of document.querySelectorAll<HTMLElement>(selector)) place.hidden = !isShown;
  };

  setAll('[data-initials]', initialsOf(me.first_name, me.last_name, me.email));
  // Each on one line, which ends with an ellipsis if it is too long. The profile shows the whole name and address.
  find('[data-full-name]').textContent = name || (me.email ?? '');
  find('[data-own-email]').textContent = name ? (me.email ?? '') : '';
  setAll('[data-name-value]', name || text('status_not_set'));
  setAll('[data-email-value]', me.email ?? text('status_not_set'));
  showIf('[data-email-verified]', me.email !== null && me.email_verified);
  showIf('[data-email-unverified]', me.email !== null && !me.email_verified);
  showIf('[data-email-none]', me.email === null);
  showIf('[data-pending]', me.pending_email !== null);
  setAll(
    '[data-pending-email]',
    me.pending_email === null ? '' : text('status_email_pending', { email: me.pending_email }),
  );
  setAll('[data-language-value]', languageName(me.language));

  showIf('[data-tfa-on]', me.tfa_enabled);
  showIf('[data-tfa-off]', !me.tfa_enabled);
  const left = find('[data-recovery-left]');
  left.textContent = text('status_recovery_left', { count: String(me.recovery_codes_left) });
  left.classList.toggle('badge-bad', me.recovery_codes_left <= 2);
  showIf('[data-card=signing-in]', canHavePassword(account) && !mustSetUpTfa);
  showIf('[data-password-set]', me.has_password);
  showIf('[data-password-unset]', !me.has_password);
  setAll('[data-password-lead]', text(me.has_password ? 'status_password_lead' : 'status_password_none_lead'));
  setAll(
    '#password-dialog-title, #password-form [type=submit]',
    text(me.has_password ? 'action_password_change' : 'action_password_set'),
  );
  const mustUsePasskey = mustSetUpTfa && me.passkeys > 0 && page.offers.passkeys;
  showIf('[data-must-set-up-tfa]', mustSetUpTfa && !mustUsePasskey);
  showIf('[data-must-use-passkey]', mustUsePasskey);
  showIf('[data-continue]', !mustSetUpTfa);
  showIf('[data-managed]', managedBy !== undefined);
  if (managedBy !== undefined) setAll('[data-managed]', text('status_managed', { provider: labelOf(managedBy) }));
  showIf('[data-self-service]', hasSelfService);
  for (const input of document.querySelectorAll<HTMLInputElement>('[data-username]')) input.value = me.email ?? '';

  setAll('[data-summary=profile]', me.email ?? '');
  setAll('[data-summary=security]', text(me.tfa_enabled ? 'status_summary_tfa_on' : 'status_summary_tfa_off'));
  setAll('[data-summary=connections]', me.providers.map(labelOf).join(', '));
}

/** Up to two letters that stand for a person. Some letters consist of several code points. */
function initialsOf(first: string | null, last: string | null, email: string | null): string {
  const parts = [first, last].filter((part): part is string => Boolean(part?.trim()));
  const sources = parts.length > 0 ? parts : [email ?? '?'];
  const segmenter = new Intl.Segmenter(page.language);
  return sources
    .map((part) => [...segmenter.segment(part.trim())][0]?.segment ?? '')
    .join('')
    .toLocaleUpperCase(page.language);
}

/** The name of a language in the language of the page. */
function languageName(tag: string | null): string {
  if (!tag) return text('status_language_default');
  const known = document.querySelector<HTMLOptionElement>(`#language-choice option[lang="${CSS.escape(tag)}"]`);
  if (known) return known.text;
  try {
    return new Intl.DisplayNames(page.language, { type: 'language' }).of(tag) ?? tag;
  } catch {
    return tag;
  }
}
