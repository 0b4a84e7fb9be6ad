import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The advisory ids in a text. */
export const advisoriesIn = (text: string): string[] =>
  text.match(/\b(?:CVE-\d{4}-\d{4,}|GHSA(?:-[a-z0-9]{4}){3})\b/g) ?? [];

/** A test with advisories in its title. */
export interface Titled {
  /** The source file, relative to the root of the repository. */
  file: string;
  /** The title as written in the source, with its placeholders. */
  title: string;
  ids: readonly string[];
}

const titlePattern = /\btest\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;

/** Returns every test with an advisory in its title. @param root the root of the repository */
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

/** Whether a reported title belongs to a test, with any values in place of its placeholders. */
export function isTitleOf({ title }: Titled, reported: string): boolean {
  const parts = title.split(/\$\{[^}]*\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(reported);
}

/** The title for documentation: without advisories, and with `…` in place of placeholders. */
export const titleText = ({ title }: Titled): string =>
  title.replace(/ \((?:(?:CVE|GHSA)-[\w-]+(?:, )?)+\)$/, '').replaceAll(/\$\{[^}]*\}/g, '…');
