import { readdirSync } from 'node:fs';
import { extname } from 'node:path';
import { readStaticFile, type StaticFile, versionOf } from '../http/static-files.js';
import { themeCss } from './theme.js';

/** The files that the pages load. */
export type Assets = (name: string) => StaticFile | undefined;

const folder = new URL('../../pages/assets/', import.meta.url);

const mediaTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** Reads the bundled scripts and styles. Style sheets for project colors are generated on request. */
export function loadAssets(): Assets {
  const files = new Map(
    readdirSync(folder)
      .filter((name) => mediaTypes[extname(name)] !== undefined)
      .map((name) => [name, readStaticFile(new URL(name, folder), mediaTypes[extname(name)] ?? '')]),
  );
  return (name) => {
    const theme = themeCss(name);
    if (theme === undefined) return files.get(name);
    const body = Buffer.from(theme);
    return { mediaType: mediaTypes['.css'] ?? '', version: versionOf(body), body, compressed: {} };
  };
}
