import { definePlugin } from '../platform/plugin.js';
import { type CreateClientSecret, createCreateClientSecret } from './secrets.js';
import { createClientWriteRules, resourceWriteRules } from './write-rules.js';

declare module '../platform/plugin.js' {
  interface Services {
    createClientSecret: CreateClientSecret;
  }
}

/** `app.createClientSecret`: replaces the secret of a client. */
export const applicationsPlugin = definePlugin('applications', (services) => {
  const { writeRules } = services;
  writeRules.clients = createClientWriteRules(services);
  writeRules.resources = resourceWriteRules;
  return { createClientSecret: createCreateClientSecret(services) };
});
