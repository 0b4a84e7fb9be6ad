import { readFileSync } from 'node:fs';
import { Liquid, type Template } from 'liquidjs';
import { pageFiles } from './files.js';

/** Renders a template of an application, such as `account/profile`. */
export type RenderTemplate = (name: string, view: object) => Promise<string>;

/** Reads and parses all templates. All output is escaped. */
export function loadTemplates(): RenderTemplate {
  const sources = Object.fromEntries(
    pageFiles('templates/', '.liquid').map(({ folder, name, url }) => [`${folder}/${name}`, readFileSync(url, 'utf8')]),
  );
  const engine = new Liquid({
    templates: sources,
    cache: true,
    outputEscape: 'escape',
    strictFilters: true,
    strictVariables: true,
    lenientIf: true,
    ownPropertyOnly: true,
  });
  const parsed = new Map<string, Template[]>(
    Object.entries(sources).map(([name, source]) => [name, engine.parse(source, name)]),
  );
  return async (name, view) => {
    const template = parsed.get(name);
    if (!template) throw new Error(`The template ${name} does not exist.`);
    return engine.render(template, view);
  };
}
