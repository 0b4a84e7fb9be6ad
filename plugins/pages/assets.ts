import { readStaticFile, type StaticFile, versionOf } from '../http/static-files.js';
import { pageFiles } from './files.js';
import { themeCss } from './theme.js';

/** The files that the pages load. */
export type Assets = (name: string) => StaticFile | undefined;

const mediaTypes = { '.css': 'text/css; charset=utf-8', '.js': 'text/javascript; charset=utf-8' } as const;

/**
 * Reads the script and the style sheet of each application, such as `account.js` and `account.css`, and the parts that a script loads on
 * demand. Style sheets for project colors are generated on request.
 */
export function loadAssets(): Assets {
  const files = new Map(
    (['.css', '.js'] as const).flatMap((ending) =>
      pageFiles('', ending).map(({ folder, name, url }) => {
        const file = readStaticFile(url, mediaTypes[ending]);
        // The build has named it after its content.
        const isPart = name.startsWith('part-');
        return [isPart ? `${name}${ending}` : `${folder}${ending}`, { ...file, hasHashInName: isPart }] as const;
      }),
    ),
  );
  return (name) => {
    const theme = themeCss(name);
    if (theme === undefined) return files.get(name);
    const body = Buffer.from(theme);
    return { mediaType: mediaTypes['.css'], version: versionOf(body), body, compressed: {} };
  };
}
