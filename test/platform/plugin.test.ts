// @suite embedded-only: hardly depends on the engine

import fastify from 'fastify';
import t from 'tap';
import { definePlugin, type Module, type Services } from '../../plugins/platform/plugin.js';

declare module '../../plugins/platform/plugin.js' {
  interface Services {
    greeting: string;
    greet(): string;
  }
}

const providing = (module: Module, greeting: string) => definePlugin(module, () => ({ greeting }));
const using = (module: Module) => definePlugin(`${module}/greet`, ({ greeting }) => ({ greet: () => greeting }));

t.test(
  'a plugin gets the services that earlier plugins provide, and what it provides is part of the app',
  async (t) => {
    const app = fastify();
    await app.register(providing('platform', 'Hello'));
    await app.register(using('http'));
    t.equal(app.greet(), 'Hello');
  },
);

t.test('the app does not start if a plugin uses what no earlier plugin provides', async (t) => {
  const app = fastify();
  await t.rejects(
    async () => app.register(using('http')),
    new Error('The plugin http/greet uses greeting, which no plugin registered before it provides.'),
  );
});

t.test('the app does not start if a plugin uses a service of a later module', async (t) => {
  const app = fastify();
  await app.register(providing('users', 'Hello'));
  await t.rejects(
    async () => app.register(using('sessions')),
    new Error('The plugin sessions/greet uses greeting, of the later module users.'),
  );
});

t.test('services are read only while the plugin is registered, so that the order is always checked', async (t) => {
  const app = fastify();
  await app.register(providing('platform', 'Hello'));
  let services: Services | undefined;
  await app.register(
    definePlugin('http', (given) => {
      services = given;
    }),
  );
  t.throws(() => services?.greeting, /The plugin http uses greeting, but reads it too late/);
});
