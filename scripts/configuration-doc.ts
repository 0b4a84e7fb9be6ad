import { Config, configGroups } from '../schemas/config.js';

interface Variable {
  description: string;
  expected: string;
  default?: string | number | boolean;
}

/** The reference of all environment variables, in Markdown. */
export function configurationDoc(): string {
  const sections = Object.entries(configGroups).flatMap(([title, group]) => [
    `## ${title}`,
    '',
    '| Variable | Default | Meaning | Takes |',
    '|---|---|---|---|',
    ...Object.keys(group).map((name) => row(name, Config.properties[name as keyof typeof Config.properties])),
    '',
  ]);
  return [
    '<!-- Made from schemas/config.ts by `npm run docs`. Change it there. -->',
    '',
    '# Configuration',
    '',
    'Gatehouse is configured by environment variables, and needs none. A variable that is empty counts as unset.',
    'When any is wrong, the service names every fault at once and does not start.',
    '',
    ...sections,
  ]
    .join('\n')
    .trimEnd()
    .concat('\n');
}

function row(name: string, schema: unknown): string {
  const { description, expected, default: preset } = schema as Variable;
  const shown = preset === undefined ? '–' : `\`${preset}\``;
  return `| \`${name}\` | ${shown} | ${cell(description)} | ${cell(expected.replace(/; .*$/, ''))} |`;
}

/** Text for a cell of a table, where a bar would end it. */
const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
