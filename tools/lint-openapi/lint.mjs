// Lints openapi.yaml: `npm run lint:openapi`. Runs Redocly with redocly.yaml, and Spectral with its OpenAPI ruleset. Uses the
// core packages that their command lines use, without the hundreds of packages that the command lines depend on.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { formatProblems, getTotals, lint, loadConfig } from '@redocly/openapi-core';
import core from '@stoplight/spectral-core';
import parsers from '@stoplight/spectral-parsers';
import rulesets from '@stoplight/spectral-rulesets';

const file = 'openapi.yaml';

const config = await loadConfig({ configPath: fileURLToPath(new URL('redocly.yaml', import.meta.url)) });
const problems = await lint({ ref: file, config });
const totals = getTotals(problems);
if (problems.length > 0) formatProblems(problems, { format: 'codeframe', totals, version: '' });

const spectral = new core.Spectral();
spectral.setRuleset({ extends: [rulesets.oas] });
const findings = await spectral.run(new core.Document(readFileSync(file, 'utf8'), parsers.Yaml, file));
for (const { code, path, message } of findings) console.error(`${code}: ${message}\n  at ${path.join('.')}`);

console.log(`Redocly: ${totals.errors} errors, ${totals.warnings} warnings. Spectral: ${findings.length} findings.`);
process.exit(problems.length + findings.length > 0 ? 1 : 0);
