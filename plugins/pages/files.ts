import { existsSync, readdirSync } from 'node:fs';

const root = new URL('../../pages/', import.meta.url);

/** The kit and the applications. The API reference has no templates, and is served by `plugins/openapi/reference.ts`. */
export const folders = readdirSync(root).filter((folder) => existsSync(new URL(`${folder}/templates/`, root)));

interface PageFile {
  /** An application, or `kit`. */
  folder: string;
  /** Without the ending. */
  name: string;
  url: URL;
}

/** The files of the kit and of each application. @param place a folder inside each of them, with a trailing slash, or empty */
export function pageFiles(place: string, ending: string): PageFile[] {
  return folders.flatMap((folder) => {
    const url = new URL(`${folder}/${place}`, root);
    // An application may still lack its texts; `texts.ts` reports all missing files together.
    if (!existsSync(url)) return [];
    return readdirSync(url)
      .filter((file) => file.endsWith(ending))
      .map((file) => ({ folder, name: file.slice(0, -ending.length), url: new URL(file, url) }));
  });
}
