import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MailKind } from './jobs.js';

export const mailKinds: readonly MailKind[] = [
  'invite',
  'registration',
  'reset',
  'notice',
  'email_change',
  'email_change_notice',
  'account_exists',
  'email_login',
  'email_code',
];
export const mailParts = ['subject', 'html', 'text'] as const;
export type MailPart = (typeof mailParts)[number];

interface TemplateFile {
  path: string;
  source: string;
}

/** The templates of one language, by names such as `invite.html.liquid`. */
export type TemplateSet = ReadonlyMap<string, TemplateFile>;

const builtInFolder = fileURLToPath(new URL('./templates/', import.meta.url));
const namePattern = /^(?<name>_?[a-z][a-z0-9_-]*)(?:\.(?<tag>[a-z]{2,3}(?:-[a-z0-9]+)*))?\.(?<part>[a-z]+)\.liquid$/i;
const naming =
  'valid names are, for example, invite.html.liquid, reset.de-DE.text.liquid, registration.subject.liquid, layout.html.liquid, and _footer.html.liquid for a partial';

/**
 * Reads the templates of every language. A custom template replaces the built-in template of the same name, and a custom template
 * for one language replaces the custom template for all languages. The files are read only once, so no template can access other
 * files.
 * @param folder the folder of custom templates
 * @param tags the language tags
 * @param faults receives the faults found in the custom folder
 * @returns the templates by language tag
 */
export function readTemplates(
  folder: string | undefined,
  tags: readonly string[],
  faults: string[],
): ReadonlyMap<string, TemplateSet> {
  const builtIn = readFolder(builtInFolder);
  const sets = new Map(tags.map((tag) => [tag, new Map(builtIn)]));
  const own = folder === undefined ? [] : [...readOwnFolder(folder, faults)];
  const owned = own.map(([file, template]) => ({ template, ...partsOf(file) }));
  // Templates for all languages come first, so that templates for one language replace them.
  for (const { template, name, tag, part } of owned.sort((a, b) => Number(!!a.tag) - Number(!!b.tag))) {
    if (!isUsed(name, part)) {
      faults.push(`${template.path}: no email uses a template with this name; ${naming}`);
    } else if (tag && !sets.has(tag)) {
      faults.push(`${template.path}: unknown language ${tag}; the languages are ${tags.join(', ')}`);
    } else {
      for (const set of tag ? [sets.get(tag)] : sets.values()) set?.set(`${name}.${part}.liquid`, template);
    }
  }
  return sets;
}

function partsOf(file: string): { name: string; tag: string | undefined; part: string } {
  const { name = '', tag, part = '' } = namePattern.exec(file)?.groups ?? {};
  return { name, tag, part };
}

function isUsed(name: string, part: string): boolean {
  if (mailKinds.some((kind) => kind === name)) return mailParts.some((known) => known === part);
  return (name === 'layout' || name.startsWith('_')) && (part === 'html' || part === 'text');
}

function readOwnFolder(folder: string, faults: string[]): Map<string, TemplateFile> {
  try {
    return readFolder(resolve(folder));
  } catch (error) {
    const { path, code } = error as NodeJS.ErrnoException;
    faults.push(`EMAIL_TEMPLATES_PATH: ${path ?? folder} cannot be read (${code})`);
    return new Map();
  }
}

function readFolder(folder: string): Map<string, TemplateFile> {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.liquid') && statSync(join(folder, file)).isFile())
    .map((file) => [file, { path: join(folder, file), source: readFileSync(join(folder, file), 'utf8') }] as const);
  return new Map(files);
}
