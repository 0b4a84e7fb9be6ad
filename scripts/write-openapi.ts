// Writes openapi.yaml, as the service serves it in its default configuration: `npm run openapi`.
import { writeFileSync } from 'node:fs';
import { buildApp } from '../app.js';
import { loadConfig } from '../plugins/platform/config.js';

// The result must not depend on the environment or a database of this machine.
const config = loadConfig({ SECRET: 'needed to start and used for nothing', LOG_LEVEL: 'silent' });
const app = await buildApp(config, { database: { kind: 'memory' } });
await app.ready();
writeFileSync('openapi.yaml', app.swagger({ yaml: true }));
await app.close();
