import { readdirSync, readFileSync } from 'node:fs';
import { Liquid, type Template } from 'liquidjs';

const folder = new URL('../../pages/templates/', import.meta.url);
const extension = '.liquid';

/** Reads and parses all templates, and returns a function that renders one by name. All output is escaped. */
export function loadTemplates(): (name: string, view: object) => Promise<string> {
  const sources = Object.fromEntries(
    readdirSync(folder)
      .filter((file) => file.endsWith(extension))
      .map((file) => [file.slice(0, -extension.length), readFileSync(new URL(file, folder), 'utf8')]),
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
