import type { Locale } from '../platform/locales.js';
import { createEngine, explainTemplateError } from './template-engine.js';
import type { MailVariables } from './variables.js';

/** Texts contain placeholders but cannot include templates. */
const noTemplates = new Map();
const engine = createEngine(noTemplates, 'text');

/**
 * The texts of one language from the given sections of its file, with their placeholders filled in. The result is plain text, which
 * the template escapes.
 * @param reference a language that has all texts, to find texts that are missing
 */
export function textsOf(locale: Locale, reference: Locale, sections: readonly string[], variables: MailVariables) {
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
    return String(engine.renderSync(engine.parse(text, place), variables));
  } catch (error) {
    throw new Error(explainTemplateError(error, noTemplates, place));
  }
}
