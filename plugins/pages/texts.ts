import { readFileSync } from 'node:fs';
import { folders, pageFiles } from './files.js';

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
  const files = new Map<string, Texts['all']>(
    pageFiles('texts/', '.json').map(({ folder, name, url }) => [
      `${folder}/${name}`,
      JSON.parse(readFileSync(url, 'utf8')),
    ]),
  );
  const missing = folders.flatMap((folder) =>
    tags.filter((tag) => !files.has(`${folder}/${tag}`)).map((tag) => `pages/${folder}/texts/${tag}.json`),
  );
  if (missing.length > 0) throw new Error(`Files with texts are missing: ${missing.join(', ')}`);
  const texts = new Map<string, Texts>();
  for (const folder of folders) {
    for (const tag of tags) {
      const all = { ...files.get(`kit/${tag}`), ...files.get(`${folder}/${tag}`) };
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
