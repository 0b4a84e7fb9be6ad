import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Liquid } from 'liquidjs';
import { ConfigError } from '../config.js';
import type { Locale, Locales } from '../locales.js';
import { colorOf, inkOn, logoOf } from './branding.js';
import { durationIn } from './duration.js';
import type { MailKind } from './jobs.js';

export interface MailInput {
  language: Locale;
  project: { name: string | null; color: string | null; logo: string | null };
  variables: { url: string; email: string; first_name?: string | null; last_name?: string | null };
  /** How long the link can be used, in milliseconds. */
  validFor: number;
}

export interface MailContent {
  subject: string;
  html: string;
  text: string;
  /** BCP 47 tag. */
  language: string;
}

export interface MailTemplates {
  render(kind: MailKind, input: MailInput): Promise<MailContent>;
  /** Renders every mail in every language. @throws with the file and what is wrong in it */
  check(): Promise<void>;
}

const builtIn = fileURLToPath(new URL('templates', import.meta.url));
const kinds: readonly MailKind[] = ['invite', 'registration', 'reset'];
/** What a template may use up, in liquidjs's terms: characters, milliseconds, and things in memory. */
const limits = { parseLimit: 200_000, renderLimit: 1_000, memoryLimit: 10_000_000 };

/**
 * Renders mails from Liquid templates. One in `folder` goes before the built-in one: `<kind>.<language>.html.liquid`,
 * then `<kind>.html.liquid`, then `message.html.liquid`; `.text.liquid` likewise.
 */
export function createMailTemplates({
  locales,
  folder,
}: {
  locales: Locales;
  folder?: string | undefined;
}): MailTemplates {
  const own = folder === undefined ? undefined : resolve(folder);
  if (own !== undefined && !existsSync(own)) throw new ConfigError([`EMAIL_TEMPLATES_PATH: there is no folder ${own}`]);
  const root = own === undefined ? [builtIn] : [own, builtIn];
  const common = { root, cache: true, strictVariables: true, strictFilters: true, ...limits };
  const settings = { ...common, relativeReference: false, ownPropertyOnly: true };
  // In HTML everything that is put in is escaped, unless a template says `raw`.
  const engines = { html: new Liquid({ ...settings, outputEscape: 'escape' }), text: new Liquid(settings) };

  const templateFor = (kind: MailKind, tag: string, format: 'html' | 'text'): string => {
    const names = [`${kind}.${tag}.${format}.liquid`, `${kind}.${format}.liquid`];
    return (own && names.find((name) => existsSync(join(own, name)))) ?? `message.${format}.liquid`;
  };

  /** The texts of a mail with everything filled in, not escaped yet. */
  const textsOf = async (kind: MailKind, { language, variables, validFor }: MailInput, project: string) => {
    const name = nameToGreet([variables.first_name, variables.last_name]);
    const values = { project, email: variables.email, name, duration: durationIn(language.tag, validFor) };
    const texts = { ...language.mail.common, ...language.mail[kind] };
    texts.greeting = (name ? texts.greetingByName : texts.greeting) ?? '';
    const filled = await Promise.all(
      Object.entries(texts).map(async ([key, text]) => [key, await engines.text.parseAndRender(text, values)]),
    );
    return Object.fromEntries(filled) as Record<string, string>;
  };

  const render: MailTemplates['render'] = async (kind, input) => {
    const { language, variables } = input;
    const name = input.project.name || 'Gatehouse';
    const color = colorOf(input.project.color);
    const texts = await textsOf(kind, input, name);
    const subject = oneLine(texts.subject ?? '');
    const scope = {
      texts,
      subject,
      language: language.tag,
      project: { name, color, ink: inkOn(color), logo: logoOf(input.project.logo) },
      url: variables.url,
      email: variables.email,
      first_name: variables.first_name ?? '',
      last_name: variables.last_name ?? '',
    };
    const [html, text] = await Promise.all([
      engines.html.renderFile(templateFor(kind, language.tag, 'html'), scope),
      engines.text.renderFile(templateFor(kind, language.tag, 'text'), scope),
    ]);
    return { subject, html, text, language: language.tag };
  };

  return {
    render,
    check: async () => {
      for (const language of locales.all) {
        for (const kind of kinds) await render(kind, sample(language)).catch((error: unknown) => refuse(error, kind));
      }
    },
  };
}

const sample = (language: Locale): MailInput => ({
  language,
  project: { name: 'Example', color: null, logo: null },
  variables: { url: 'https://example.com/?token=x', email: 'ada@example.com', first_name: 'Ada', last_name: null },
  validFor: 86_400_000,
});

function refuse(error: unknown, kind: MailKind): never {
  const reason = error instanceof Error ? error.message : String(error);
  throw new ConfigError([`EMAIL_TEMPLATES_PATH: the template of the mail "${kind}" is faulty: ${reason}`]);
}

/**
 * A name to greet somebody with. Strangers choose their names themselves, and other people's addresses: one that mail
 * programs would make a link of is left out.
 */
const nameToGreet = (parts: readonly (string | null | undefined)[]): string => {
  const name = oneLine(parts.filter(Boolean).join(' '));
  return /[/:@]|\.[\p{L}\d]/u.test(name) ? '' : name;
};

/** A subject is one line: what is in it must not become another header. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
