import { deleteExpiredStates } from '../../db/queries/providers/spent-states.js';
import type { ListedProvider } from '../../schemas/providers.js';
import { definePlugin, type Services } from '../platform/plugin.js';
import { hour } from '../platform/scheduler.js';
import { createAccounts } from './accounts.js';
import { createProviderFlow, type ProviderFlow } from './flow.js';
import { createIdentities, type Identities } from './identities.js';
import { createProvider } from './provider.js';

declare module '../platform/plugin.js' {
  interface Services {
    providerFlow: ProviderFlow;
    identities: Identities;
    /** The providers that users can log in with. */
    listProviders(options?: { sessionOnly: boolean }): ListedProvider[];
  }
}

/** `app.providerFlow`: login with OAuth2 and OpenID Connect. `app.identities`: the accounts at providers with which users log in. */
export const providersPlugin = definePlugin('providers', (services) => {
  const { config, clock, maintenanceDb, every } = services;
  const providers = new Map(
    config.PROVIDERS.map((provider) => [
      provider.key,
      { provider: createProvider(services, provider), accounts: createAccounts(services, provider) },
    ]),
  );
  const listProviders: Services['listProviders'] = ({ sessionOnly } = { sessionOnly: false }) =>
    config.PROVIDERS.filter(({ MODE: mode }) => !sessionOnly || mode === 'session').map(
      ({ key: name, DRIVER: driver, LABEL: label, ICON: icon }) => ({
        name,
        driver,
        ...(label === undefined ? {} : { label }),
        ...(icon === undefined ? {} : { icon }),
      }),
    );
  every(hour, () => deleteExpiredStates(maintenanceDb, clock()), 'expired provider logins could not be deleted');
  return {
    providerFlow: createProviderFlow(services, providers),
    identities: createIdentities(services),
    listProviders,
  };
});
