import { readdirSync, readFileSync } from 'node:fs';
import { definePlugin } from './plugin.js';

/** The texts of emails in one language: the content of one file in `locales/`. Pages have their own (`plugins/pages/texts.ts`). */
export interface Locale {
  /** The name of its file: a BCP 47 tag, such as `de-DE`. */
  readonly tag: string;
  /** The name of the language in that language. */
  readonly name: string;
  readonly mail: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export interface Locales {
  readonly all: readonly Locale[];
  /** The first of the requested languages that exists, possibly for another region; otherwise English. */
  pick(...wanted: (string | null | undefined)[]): Locale;
}

declare module './plugin.js' {
  interface Services {
    locales: Locales;
  }
}

const folder = new URL('../../locales/', import.meta.url);
const fallback = 'en-US';

/** Loads all languages. To add a language, add a file here and one in each `texts` folder in `pages/`. */
export function loadLocales(): Locales {
  const all = readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => {
      const content = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Omit<Locale, 'tag'>;
      return { tag: file.slice(0, -'.json'.length), ...content };
    });
  const languageOf = (tag: string) => tag.toLowerCase().split(/[-_]/, 1)[0] ?? '';
  const find = (wanted: string) =>
    all.find(({ tag }) => tag.toLowerCase() === wanted.toLowerCase().replace('_', '-')) ??
    all.find(({ tag }) => languageOf(tag) === languageOf(wanted));
  const english = find(fallback);
  if (!english) throw new Error(`locales/${fallback}.json is missing.`);
  return {
    all,
    pick: (...wanted) => {
      for (const tag of wanted) {
        const found = tag ? find(tag) : undefined;
        if (found) return found;
      }
      return english;
    },
  };
}

/** `app.locales`: the languages of the service, with the texts of emails. */
export const localesPlugin = definePlugin('platform/locales', () => ({ locales: loadLocales() }));
