import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { themeCss } from './theme.js';

/** A file that the pages load. */
export interface Asset {
  body: string;
  mediaType: string;
  /** Changes with the content, so that a URL with the version can be cached forever. */
  version: string;
}

export type Assets = (name: string) => Asset | undefined;

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
      .map((name) => [name, assetOf(name, readFileSync(new URL(name, folder), 'utf8'))]),
  );
  return (name) => {
    const theme = themeCss(name);
    return theme === undefined ? files.get(name) : assetOf(name, theme);
  };
}

const assetOf = (name: string, body: string): Asset => ({
  body,
  mediaType: mediaTypes[extname(name)] ?? '',
  version: createHash('sha256').update(body).digest('base64url').slice(0, 16),
});
