import { readFileSync } from 'node:fs';
import { pageFiles } from './files.js';

export interface Texts {
  /** All texts of an application, including those of the kit. */
  all: Readonly<Record<string, string>>;
  /** Those that its scripts need. */
  inScripts: Readonly<Record<string, string>>;
}

/** Prefixes of the texts that scripts need. */
const scriptTexts = /^(error|fault|status|action|choice)_/;

/** Reads the texts of the kit and of each application. @param tags the languages in which each of them must have texts */
export function loadTexts(tags: readonly string[]): (application: string, tag: string) => Texts {
  const files = pageFiles('texts/', '.json');
  const read = (folder: string, tag: string): Texts['all'] => {
    const file = files.find((one) => one.folder === folder && one.name === tag);
    if (!file) throw new Error(`pages/${folder}/texts/${tag}.json is missing.`);
    return JSON.parse(readFileSync(file.url, 'utf8'));
  };
  const texts = new Map<string, Texts>();
  for (const folder of new Set(files.map((file) => file.folder))) {
    for (const tag of tags) {
      const all = { ...read('kit', tag), ...read(folder, tag) };
      const inScripts = Object.fromEntries(Object.entries(all).filter(([key]) => scriptTexts.test(key)));
      texts.set(`${folder}/${tag}`, { all, inScripts });
    }
  }
  return (application, tag) => {
    const found = texts.get(`${application}/${tag}`);
    if (!found) throw new Error(`The application ${application} has no texts.`);
    return found;
  };
}
