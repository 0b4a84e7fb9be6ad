import type { Liquid } from 'liquidjs';
import type { SignInMethod } from '../activity/service.js';
import { ConfigError } from '../platform/config.js';
import type { Locale, Locales } from '../platform/locales.js';
import type { MailKind } from './jobs.js';
import { createEngine, explainTemplateError } from './template-engine.js';
import { type MailPart, mailKinds, readTemplates, type TemplateSet } from './template-files.js';
import { sampleInputs } from './template-samples.js';
import { type MailInput, type MailVariables, oneLine, variablesOf } from './variables.js';

export interface RenderedMail {
  subject: string;
  html: string;
  text: string;
  /** Language tag, such as `de-DE`. */
  language: string;
}

export interface MailTemplates {
  render(kind: MailKind, input: MailInput): Promise<RenderedMail>;
  /**
   * Renders every kind of email in every language, so that a faulty template is found at startup and not when an email is sent.
   * @throws {ConfigError} that lists every fault with its file and line
   */
  check(): Promise<void>;
}

interface Engines {
  set: TemplateSet;
  html: Liquid;
  plain: Liquid;
}

export interface MailTemplatesOptions {
  locales: Locales;
  /** EMAIL_TEMPLATES_PATH: the folder of custom templates, which replace the built-in ones. */
  folder?: string | undefined;
}

export function createMailTemplates({ locales, folder }: MailTemplatesOptions): MailTemplates {
  const tags = locales.all.map(({ tag }) => tag);
  const folderFaults: string[] = [];
  const engines = new Map<string, Engines>();
  for (const [tag, set] of readTemplates(folder, tags, folderFaults)) {
    engines.set(tag, { set, html: createEngine(set, 'html'), plain: createEngine(set, 'text') });
  }
  const reference = locales.pick();

  function renderNow(kind: MailKind, input: MailInput): RenderedMail {
    const { tag } = input.language;
    const ofLanguage = engines.get(tag);
    if (!ofLanguage) throw new Error(`There are no email templates for ${tag}.`);
    const variables = variablesOf(input);
    const textsIn = (...sections: string[]) => textsOf(input.language, reference, sections, variables);
    const changes = kind === 'notice' ? (input.notice?.changes ?? []) : [];
    // A single change has its own text. Several changes share one text and are listed.
    const [only, ...others] = changes;
    const ofChanges = only === undefined ? [] : [others.length === 0 ? only : 'several_changes'];
    const texts = textsIn('common', kind, ...ofChanges);
    const titles = changes.map((change) => textsIn(change).title);
    const itemsIn = (items: readonly SignInMethod[] = []) =>
      items.map((item) => {
        const [key, more] = typeof item === 'string' ? [item, {}] : ['provider', { provider: oneLine(item.provider) }];
        return textsOf(input.language, reference, ['notice_items'], { ...variables, ...more })[key];
      });
    const { removed, remaining } = input.notice?.reset ?? {};
    const known = {
      ...variables,
      texts,
      changes: titles,
      removed: itemsIn(removed),
      remaining: itemsIn(remaining),
    };
    const subject = oneLine(renderPart(ofLanguage, kind, 'subject', known));
    const all = { ...known, subject };
    return {
      subject,
      html: `${renderPart(ofLanguage, kind, 'html', all).trim()}\n`,
      text: tidy(renderPart(ofLanguage, kind, 'text', all)),
      language: tag,
    };
  }

  /** Says what is wrong with an email, or returns undefined. */
  function faultOf(kind: MailKind, input: MailInput): string | undefined {
    try {
      const { subject, html, text } = renderNow(kind, input);
      const { set } = engines.get(input.language.tag) as Engines;
      const file = (part: MailPart) => set.get(`${kind}.${part}.liquid`)?.path;
      if (subject === '') return `${file('subject')}: the subject is empty`;
      const { url, code } = input;
      if (code && !html.includes(code)) return `${file('html')}: ${withoutCode}`;
      if (code && !text.includes(code)) return `${file('text')}: ${withoutCode}`;
      if (url === null) return undefined;
      if (!html.includes(url.replaceAll('&', '&amp;'))) return `${file('html')}: ${withoutLink}`;
      if (!text.includes(url)) return `${file('text')}: ${withoutLink}`;
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  return {
    render: async (kind, input) => renderNow(kind, input),
    check: async () => {
      const mails = locales.all.flatMap((language) =>
        mailKinds.flatMap((kind) => sampleInputs(kind, language).map((input) => faultOf(kind, input))),
      );
      const faults = new Set([...folderFaults, ...mails.filter((fault) => fault !== undefined)]);
      if (faults.size > 0) throw new ConfigError([...faults]);
    },
  };
}

/** Texts contain placeholders but cannot include templates. */
const noTemplates = new Map();
const textEngine = createEngine(noTemplates, 'text');

/**
 * The texts of one language from the given sections of its file, with their placeholders filled in. The result is plain text, which
 * the template escapes.
 * @param reference a language that has all texts, to find texts that are missing
 */
function textsOf(locale: Locale, reference: Locale, sections: readonly string[], variables: MailVariables) {
  const texts: Record<string, string> = {};
  for (const section of sections) {
    const given = locale.mail?.[section] ?? {};
    for (const key of Object.keys({ ...reference.mail[section], ...given })) {
      texts[key] = fillIn(given[key], `locales/${locale.tag}.json: mail.${section}.${key}`, variables);
    }
  }
  return texts;
}

function fillIn(text: unknown, place: string, variables: MailVariables): string {
  if (typeof text !== 'string' || text.trim() === '') throw new Error(`${place} is missing`);
  try {
    return String(textEngine.renderSync(textEngine.parse(text, place), variables));
  } catch (error) {
    throw new Error(explainTemplateError(error, noTemplates, place));
  }
}

const withoutCode = 'the email does not contain its code; add {{ code }} to it';
const withoutLink = 'the email does not contain its link; add {{ url }} to it';

/** Renders synchronously, so that the time limit applies to the template alone, and not to other work in between. */
function renderPart({ set, html, plain }: Engines, kind: MailKind, part: MailPart, variables: object): string {
  const name = `${kind}.${part}.liquid`;
  try {
    return String((part === 'html' ? html : plain).renderFileSync(name, {}, { globals: variables }));
  } catch (error) {
    throw new Error(explainTemplateError(error, set, name));
  }
}

/** Removes the extra blank lines that conditions and includes leave in the text. */
function tidy(text: string): string {
  return `${text
    .replaceAll('\r\n', '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()}\n`;
}
