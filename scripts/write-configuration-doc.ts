// Writes docs/configuration.md from the schema of the configuration: `npm run docs`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { configurationDoc } from './configuration-doc.js';

mkdirSync('docs', { recursive: true });
writeFileSync('docs/configuration.md', configurationDoc());
