import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The ids of advisories in a text. */
export const advisoriesIn = (text: string): string[] =>
  text.match(/\b(?:CVE-\d{4}-\d{4,}|GHSA(?:-[a-z0-9]{4}){3})\b/g) ?? [];

/** A test with advisories in its title. */
export interface Titled {
  /** The source, from the root of the repository. */
  file: string;
  /** As it stands there: what is filled in later is left as it is. */
  title: string;
  ids: readonly string[];
}

const titlePattern = /\btest\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;

/** Every test with an advisory in its title. @param root where the repository is */
export function titledTests(root = '.'): Titled[] {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .sort()
    .flatMap((name) => {
      const file = `test/${name}`;
      const titles = [...readFileSync(join(root, file), 'utf8').matchAll(titlePattern)].map(
        ([, plain, double, template]) => plain ?? double ?? template ?? '',
      );
      return titles.map((title) => ({ file, title, ids: advisoriesIn(title) })).filter(({ ids }) => ids.length > 0);
    });
}

/** Whether a title in a report is that of a test, with whatever was filled in. */
export function isTitleOf({ title }: Titled, reported: string): boolean {
  const parts = title.split(/\$\{[^}]*\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(reported);
}

/** A title as people read it: without the advisories, and with `…` for what is filled in. */
export const titleText = ({ title }: Titled): string =>
  title.replace(/ \((?:(?:CVE|GHSA)-[\w-]+(?:, )?)+\)$/, '').replaceAll(/\$\{[^}]*\}/g, '…');
