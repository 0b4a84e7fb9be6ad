import type { Locale } from '../locales.js';
import { type Branding, brandingOf } from './branding.js';
import { durationInWords } from './duration.js';

export interface MailInput {
  language: Locale;
  /** The project's settings. */
  project: { name: string; color: string | null; logo: string | null };
  variables: { url: string; email: string; first_name?: string | null; last_name?: string | null };
  /** How long the link is valid, in milliseconds. */
  validFor: number;
}

/** What every template may use; `docs/mail-templates.md` says what each is. */
export interface MailVariables extends Branding {
  language: string;
  direction: 'ltr' | 'rtl';
  url: string;
  email: string;
  first_name: string | null;
  last_name: string | null;
  project: string;
  valid_for: string;
}

export function variablesOf({ language, project, variables, validFor }: MailInput): MailVariables {
  return {
    language: language.tag,
    direction: directionOf(language.tag),
    url: variables.url,
    email: oneLine(variables.email),
    first_name: nameOf(variables.first_name),
    last_name: nameOf(variables.last_name),
    project: oneLine(project.name),
    valid_for: durationInWords(validFor, language.tag),
    ...brandingOf(project),
  };
}

/** Control characters and line breaks would add lines to a text, or headers to a mail. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
}

const longestName = 60;
const looksLikeLink = /:\/\/|[\p{L}\p{N}][.。]\p{L}{2}|\d+(\.\d+){3}/u;
/** Characters that nobody sees, or that turn the line round; but for the joiners, which some scripts cannot do without. */
const invisible = /(?![\u200c\u200d])[\p{Cf}\u3164]/gu;

/**
 * Anyone may register any address under any name, and the mail goes to that address. So a name that carries a link or a
 * message is left out.
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
