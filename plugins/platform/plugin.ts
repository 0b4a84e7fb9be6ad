import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import fastifyPlugin from 'fastify-plugin';

/** The modules of `plugins/`, in order: a module imports and uses only what itself and the modules before it contain and provide. */
export const modules = [
  'platform',
  'http',
  'monitoring',
  'rate-limits',
  'openapi',
  'activity',
  'tokens',
  'mail',
  'sign-in-methods',
  'passwords',
  'second-factor',
  'webauthn',
  'step-up',
  'sessions',
  'password-reset',
  'email-login',
  'tfa',
  'passkeys',
  'access',
  'items',
  'idempotency',
  'users',
  'invites',
  'registration',
  'providers',
  'settings',
  'support',
  'explanations',
  'applications',
  'metrics',
  'pages',
] as const;

export type Module = (typeof modules)[number];

/** What the plugins provide to each other. Each plugin adds its part to this interface, next to its code. */
export interface Services {
  log: FastifyBaseLogger;
}

declare module 'fastify' {
  interface FastifyInstance extends Services {}
}

/** The app without the services, so that a plugin can use those only through `services`, which checks the order. */
export type Host = Omit<FastifyInstance, Exclude<keyof Services, 'log'>>;

/** The services that a plugin provides. */
export type Provided = Partial<Omit<Services, 'log'>>;

/** The modules that provide the services, by the name of the service. Every app registers the same plugins. */
const providers = new Map<string, Module>();

/**
 * Defines a plugin: a function of the services that earlier plugins provide, which returns those that it provides itself. To the rest of
 * the code, they are properties of the app, such as `app.mail`.
 *
 * What a plugin uses is stated once, where it reads `services`, usually in the parameter of a factory: `createMail({ db, clock }: Services)`.
 * The app does not start if a plugin uses what no earlier plugin provides, or what a later module provides.
 * @param name the module, and the file or folder in it if the module has several plugins
 */
export function definePlugin<Options extends object = object>(
  name: Module | `${Module}/${string}`,
  register: (services: Services, app: Host, options: Options) => Provided | undefined | Promise<Provided | undefined>,
) {
  const module = name.split('/', 1)[0] as Module;
  return fastifyPlugin<Options>(
    async (app, options) => {
      const { services, close } = servicesFor(name, module, app);
      const provided = await register(services, app, options);
      close();
      for (const [service, value] of Object.entries<unknown>(provided ?? {})) {
        providers.set(service, module);
        app.decorate(service, value);
      }
    },
    { name },
  );
}

/** The services that a plugin can read while it is registered. */
function servicesFor(name: string, module: Module, app: FastifyInstance): { services: Services; close(): void } {
  let isOpen = true;
  const services = new Proxy({} as Services, {
    get: (_target, service: string) => {
      const fail = (reason: string) => new Error(`The plugin ${name} uses ${service}, ${reason}`);
      if (!isOpen) throw fail('but reads it too late. Read services when the plugin is registered.');
      if (!(service in app)) throw fail('which no plugin registered before it provides.');
      const provider = providers.get(service) ?? module;
      if (modules.indexOf(provider) > modules.indexOf(module)) throw fail(`of the later module ${provider}.`);
      return app[service as keyof Services];
    },
  });
  return {
    services,
    close: () => {
      isOpen = false;
    },
  };
}
