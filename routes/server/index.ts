import type { App } from '../app.js';
import { serverHealth } from './server-health.js';
import { serverInfo } from './server-info.js';
import { serverPing } from './server-ping.js';

export async function serverRoutes(app: App): Promise<void> {
  serverPing(app);
  serverHealth(app);
  serverInfo(app);
}
