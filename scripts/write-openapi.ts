// Writes openapi.yaml, as the service serves it in its default configuration: `npm run openapi`.
import { writeFileSync } from 'node:fs';
import { startDefaultApp } from './default-app.js';

const app = await startDefaultApp();
writeFileSync('openapi.yaml', app.swagger({ yaml: true }));
await app.close();
