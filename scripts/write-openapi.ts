// Writes openapi.yaml, as the service serves it with nothing configured: `npm run openapi`.
import { writeFileSync } from 'node:fs';
import { buildApp } from '../app.js';
import { loadConfig } from '../plugins/platform/config.js';

// Neither the environment nor a database of this machine has a say in the result.
const config = loadConfig({ SECRET: 'needed to start and used for nothing', LOG_LEVEL: 'silent' });
const app = await buildApp(config, { database: { kind: 'memory' } });
await app.ready();
writeFileSync('openapi.yaml', app.swagger({ yaml: true }));
await app.close();
