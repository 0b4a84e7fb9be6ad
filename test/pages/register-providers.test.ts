import t from 'tap';
import { settings } from '../../db/schema.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { startTestApp } from '../helpers/service/app.js';

const keys = ['open', 'closed', 'elsewhere'];
const provider = await startOauth2Server(t, { publicUrl: 'http://localhost:8055', keys });
const variables = {
  AUTH_PROVIDERS: keys.join(','),
  ...provider.variables('open', { LABEL: 'Forum', ALLOW_PUBLIC_REGISTRATION: 'true', MODE: 'session' }),
  ...provider.variables('closed', { MODE: 'session' }),
  ...provider.variables('elsewhere', { ALLOW_PUBLIC_REGISTRATION: 'true', MODE: 'json' }),
};
const { app, get } = await startTestApp(t, variables);

const providersIn = (html: string) => [...html.matchAll(/data-provider="([^"]*)"/g)].map(([, name]) => name);

t.test('the registration page offers the providers at which users can create an account', async (t) => {
  for (const isOpen of [true, false]) {
    await app.db.update(settings).set({ publicRegistration: isOpen });
    const { body } = await get('/account/register');
    t.strictSame(providersIn(body), ['open']);
    t.match(body, 'Continue with Forum');
    t.match(body, 'href="/auth/login/open?redirect=%2Faccount%2Flogin%3Fredirect%3D%252Faccount"');
    t.match(body, 'Create');
    t.equal(body.includes('<form id="register"'), isOpen);
    t.equal(body.includes('class="divider"'), isOpen, 'only between two ways');
    t.strictSame(providersIn((await get('/account/login')).body), ['open', 'closed']);
  }
});

t.test('without such a provider, the page says that registration is closed', async (t) => {
  const closed = await startTestApp(t, {
    AUTH_PROVIDERS: 'closed',
    ...provider.variables('closed', { MODE: 'session' }),
  });
  const { body } = await closed.get('/account/register');
  t.strictSame(providersIn(body), []);
  t.match(body, 'Registration is closed');
});
