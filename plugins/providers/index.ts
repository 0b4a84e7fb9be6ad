import plugin from 'fastify-plugin';
import { deleteExpiredStates } from '../../db/queries/providers/spent-states.js';
import type { ListedProvider } from '../../schemas/providers.js';
import { createSecretBox } from '../platform/encryption.js';
import { keysFor } from '../platform/key-derivation.js';
import { hour } from '../platform/scheduler.js';
import { createAccounts } from './accounts.js';
import { createAttempts } from './attempts.js';
import { cookieLifetime, createProviderFlow, type ProviderFlow } from './flow.js';
import { createIdentities, type Identities } from './identities.js';
import { createProvider } from './provider.js';

declare module 'fastify' {
  interface FastifyInstance {
    providerFlow: ProviderFlow;
    identities: Identities;
    /** The providers that users can log in with. */
    listProviders(options?: { sessionOnly: boolean }): ListedProvider[];
  }
}

/** `app.providerFlow`: login with OAuth2 and OpenID Connect. `app.identities`: the accounts at providers with which users log in. */
export const providersPlugin = plugin(
  async (app) => {
    const { config, db, clock, sessions, secondFactor, signInMethods, stepUp, activity, observe } = app;
    const attempts = createAttempts({ box: createSecretBox(keysFor(config, 'provider-login')), clock });
    const secure = config.PUBLIC_URL.startsWith('https:');
    // Browsers prevent every other host, including subdomains, from setting a cookie with this name.
    const nameOf = (what: string) => `${secure ? '__Host-' : ''}gatehouse_provider_${what}`;
    const cookieNames = { state: nameOf('state'), verifier: nameOf('verifier'), pending: nameOf('pending') };
    for (const name of Object.values(cookieNames)) app.ownCookies.add(name);
    const cookie = { path: '/', secure, httpOnly: true, sameSite: 'lax', maxAge: cookieLifetime } as const;

    const providers = new Map(
      config.PROVIDERS.map((provider) => {
        const { key } = provider;
        const options = {
          callbackUri: `${config.PUBLIC_URL}/auth/login/${key}/callback`,
          timeout: config.AUTH_PROVIDER_TIMEOUT,
          observe,
        };
        const accounts = createAccounts(provider, {
          db,
          clock,
          sessions,
          secondFactor,
          activity,
          acceptsPasskeys: config.AUTH_PASSKEYS,
          signInMethods,
        });
        return [key, { provider: createProvider(provider, clock, options), accounts }];
      }),
    );
    app.decorate(
      'providerFlow',
      createProviderFlow({ db, publicUrl: config.PUBLIC_URL, attempts, providers, cookieNames, cookie }),
    );
    app.decorate('identities', createIdentities({ db, signInMethods, stepUp, activity }));
    app.decorate('listProviders', ({ sessionOnly } = { sessionOnly: false }) =>
      config.PROVIDERS.filter(({ MODE: mode }) => !sessionOnly || mode === 'session').map(
        ({ key: name, DRIVER: driver, LABEL: label, ICON: icon }) => ({
          name,
          driver,
          ...(label === undefined ? {} : { label }),
          ...(icon === undefined ? {} : { icon }),
        }),
      ),
    );

    app.every(
      hour,
      () => deleteExpiredStates(app.maintenanceDb, clock()),
      'expired provider logins could not be deleted',
    );
  },
  {
    name: 'providers',
    dependencies: [
      'config',
      'database',
      'clock',
      'scheduler',
      'sessions',
      'second-factor',
      'sign-in-methods',
      'step-up',
      'cookie',
      'csrf',
      'activity',
      'tracing',
    ],
  },
);
