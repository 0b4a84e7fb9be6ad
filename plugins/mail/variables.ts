import type { Locale } from '../platform/locales.js';
import { type Branding, brandingOf } from './branding.js';
import { durationInWords } from './duration.js';
import type { Notice } from './jobs.js';

export interface MailInput {
  language: Locale;
  /** The project's settings. */
  project: { name: string; color: string | null; logo: string | null };
  recipient: { email: string; first_name: string | null; last_name: string | null };
  /** Where the link of the mail leads, if it has one. */
  url: string | null;
  /** Where a new password can be requested, in the email that offers it beside its link; null: nowhere. */
  passwordUrl?: string | null;
  /** How long that can be used, in milliseconds; null: for ever. */
  validFor: number | null;
  /** What a notice is about; null in all other mails. */
  notice: Notice | null;
}

/** What every template may use; `docs/mail-templates.md` says what each is. */
export interface MailVariables extends Branding {
  language: string;
  direction: 'ltr' | 'rtl';
  url: string | null;
  password_url: string | null;
  email: string;
  first_name: string | null;
  last_name: string | null;
  project: string;
  valid_for: string | null;
  happened_at: string | null;
  device: string | null;
  by_administrator: boolean;
  provider: string | null;
}

export function variablesOf({
  language,
  project,
  recipient,
  url,
  passwordUrl = null,
  validFor,
  notice,
}: MailInput): MailVariables {
  return {
    language: language.tag,
    direction: directionOf(language.tag),
    url,
    password_url: passwordUrl,
    email: oneLine(recipient.email),
    first_name: nameOf(recipient.first_name),
    last_name: nameOf(recipient.last_name),
    project: oneLine(project.name),
    valid_for: validFor === null ? null : durationInWords(validFor, language.tag),
    happened_at: notice && momentInWords(notice.at, language.tag),
    device: nameOf(notice?.device),
    by_administrator: notice !== null && !notice.isOwn,
    provider: notice?.provider == null ? null : oneLine(notice.provider),
    ...brandingOf(project),
  };
}

/** "January 31, 2026 at 09:26 UTC": where the reader is, nobody knows. */
const momentInWords = (at: string, language: string): string =>
  new Intl.DateTimeFormat(language, {
    year: 'numeric',
    month: 'long',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone: 'UTC',
    timeZoneName: 'short',
  }).format(new Date(at));

/** Control characters and line breaks would add lines to a text, or headers to a mail. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
}

const longestName = 60;
const looksLikeLink = /:\/\/|[\p{L}\p{N}][.。]\p{L}{2}|\d+(\.\d+){3}/u;
/** Characters that nobody sees, or that turn the line round; but for the joiners, which some scripts cannot do without. */
const invisible = /(?![\u200c\u200d])[\p{Cf}\u3164]/gu;

/**
 * Anyone may register any address under any name, and the mail goes to that address; and a program may call itself
 * anything. So a name that carries a link or a message is left out.
 */
function nameOf(name: string | null | undefined): string | null {
  const line = oneLine((name ?? '').replace(invisible, ''));
  // What it looks like: a full stop has many forms, and joiners are not seen.
  const seen = line.replace(/\p{Cf}/gu, '').normalize('NFKC');
  return line.length > longestName || looksLikeLink.test(seen) ? null : line || null;
}

const rightToLeft = new Set(['Arab', 'Hebr', 'Syrc', 'Thaa', 'Nkoo', 'Adlm', 'Rohg', 'Aran']);

function directionOf(tag: string): 'ltr' | 'rtl' {
  return rightToLeft.has(new Intl.Locale(tag).maximize().script ?? '') ? 'rtl' : 'ltr';
}
