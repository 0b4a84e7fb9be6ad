import type { Locale } from '../platform/locales.js';
import { type Branding, brandingOf } from './branding.js';
import type { Notice } from './jobs.js';

export interface MailInput {
  language: Locale;
  /** The project's settings. */
  project: { name: string; color: string | null; logo: string | null };
  recipient: { email: string; first_name: string | null; last_name: string | null };
  /** The link in the email; null: it has none. */
  url: string | null;
  /** Whether the link leads to an account page. The URL of another page may contain text of an anonymous caller. */
  isOwnPage: boolean;
  /** The code in the email; null: it has none. */
  code?: string | null;
  /** The user who invites, in an invitation; absent: it is not known. */
  inviter?: { email: string | null; first_name: string | null; last_name: string | null };
  /** The page where users can request a new password, for the email that offers this as a second link, or null. */
  passwordUrl?: string | null;
  /** How long the link in `url` can be used, in milliseconds; null: it does not expire. */
  validFor: number | null;
  /** The content of a notice; null in all other emails. */
  notice: Notice | null;
}

/** The variables that every template can use. `docs/mail-templates.md` describes them. */
export interface MailVariables extends Branding {
  language: string;
  direction: 'ltr' | 'rtl';
  url: string | null;
  url_text: string | null;
  code: string | null;
  password_url: string | null;
  inviter: string | null;
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
  isOwnPage,
  code = null,
  passwordUrl = null,
  inviter,
  validFor,
  notice,
}: MailInput): MailVariables {
  return {
    language: language.tag,
    direction: directionOf(language.tag),
    url,
    url_text: isOwnPage ? url : null,
    code,
    password_url: passwordUrl,
    inviter: inviter === undefined ? null : inviterOf(inviter),
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

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/**
 * A duration in words, such as "7 days", "24 hours" or "1 hour, 30 minutes". Only the two largest units are used. The rest is
 * dropped, so that the text never promises more time than there is.
 */
function durationInWords(milliseconds: number, language: string): string {
  // Durations below two days are given in hours.
  const usable = units.filter(([unit, length]) => milliseconds >= (unit === 'day' ? 2 * length : length));
  let rest = milliseconds;
  const parts = usable.slice(0, 2).map(([unit, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return { unit, count };
  });
  const words = (parts.length > 0 ? parts : [{ unit: 'second', count: 1 }])
    .filter(({ count }) => count > 0)
    .map(({ unit, count }) =>
      new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(count),
    );
  return new Intl.ListFormat(language, { type: 'unit' }).format(words);
}

/** Formats a time as "January 31, 2026 at 09:26 UTC". The time zone is UTC, because the reader's time zone is unknown. */
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

/** Removes control characters and line breaks, which could add lines to a text or headers to an email. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
}

const maxNameLength = 60;
const looksLikeLink = /:\/\/|[\p{L}\p{N}][.。]\p{L}{2}|\d+(\.\d+){3}/u;
/** Characters that are invisible or change the text direction, except the joiners, which some scripts need. */
const invisible = /(?![\u200c\u200d])[\p{Cf}\u3164]/gu;

/**
 * Anyone can register any address under any name, and the email goes to that address. The name of a device also comes from the
 * client. Therefore names that contain a link or are long enough for a message are left out.
 */
function nameOf(name: string | null | undefined): string | null {
  const line = oneLine((name ?? '').replace(invisible, ''));
  // Check the text as readers see it: a period has many Unicode forms, and joiners are invisible.
  const seen = line.replace(/\p{Cf}/gu, '').normalize('NFKC');
  return line.length > maxNameLength || looksLikeLink.test(seen) ? null : line || null;
}

/** The name of the user who invites, or the address if there is no name that an email can contain. */
function inviterOf({ email, first_name, last_name }: NonNullable<MailInput['inviter']>): string | null {
  const name = nameOf([first_name, last_name].filter(Boolean).join(' '));
  return name ?? (email === null ? null : oneLine(email));
}

const rightToLeft = new Set(['Arab', 'Hebr', 'Syrc', 'Thaa', 'Nkoo', 'Adlm', 'Rohg', 'Aran']);

function directionOf(tag: string): 'ltr' | 'rtl' {
  return rightToLeft.has(new Intl.Locale(tag).maximize().script ?? '') ? 'rtl' : 'ltr';
}
