import { Config, configGroups } from '../schemas/config.js';
import { ProviderVariables } from '../schemas/provider-config.js';

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
    ...(group === configGroups['Login by provider'] ? providerVariables() : []),
  ]);
  return [
    '<!-- Made from schemas/config.ts by `npm run docs`. Change it there. -->',
    '',
    '# Configuration',
    '',
    'Gatehouse is configured by environment variables, and needs none. A variable that is empty counts as unset. When any is wrong,',
    'the service names every fault at once and does not start.',
    '',
    'It reads no file by itself. To keep variables in one, such as `.env`, let Node read it (`node --env-file=.env dist/server.js`, after',
    '`npm run build`), or systemd or the container engine ([Deployment](deployment.md)). What to set for production is there, too.',
    '',
    ...sections,
  ]
    .join('\n')
    .trimEnd()
    .concat('\n');
}

/** The variables that each provider has. */
function providerVariables(): string[] {
  return [
    'Each provider has variables of its own. Put its name in the place of `<P>`, in capitals and with `_` for `-`: `google` has',
    '`AUTH_GOOGLE_CLIENT_ID`. Providers of the names `google`, `github`, `microsoft` and `gitlab` need only `CLIENT_ID` and',
    '`CLIENT_SECRET`. More in [Login by provider](providers.md).',
    '',
    '| Variable | Default | Meaning | Takes |',
    '|---|---|---|---|',
    ...Object.entries(ProviderVariables.properties).map(([name, schema]) => row(`AUTH_<P>_${name}`, schema)),
    '',
  ];
}

function row(name: string, schema: unknown): string {
  const { description, expected, default: preset } = schema as Variable;
  const shown = preset === undefined || preset === '' ? '–' : `\`${preset}\``;
  return `| \`${name}\` | ${shown} | ${cell(description)} | ${cell(expected.replace(/; .*$/, ''))} |`;
}

/** Text for a cell of a table, where a bar would end it. */
const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
