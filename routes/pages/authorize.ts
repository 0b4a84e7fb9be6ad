import { Type } from '@sinclair/typebox';
import type { App } from '../app.js';

/** The cookie with the ID of the request, which the provider sets for the path of this page. */
const requestCookie = 'gatehouse_authorization';

const params = Type.Object({ id: Type.String() });

/** What users see on the way to an application: the sign-in page, and the page that asks for their consent. */
export function authorize(app: App): void {
  const { authorizationRequests } = app.openIdProvider;
  const { pages, basePath: base } = app;

  app.get('/authorize/:id', { schema: { params } }, async (request, reply) => {
    const { id } = request.params;
    const session = await request.browserSession();
    const ids = request.cookieValues(requestCookie);
    const step = await authorizationRequests.nextStep(id, ids, session, request.client);
    if (!step) return reply.code(404).sendPage(pages.error(404));
    if (step.kind === 'continue') return reply.header('cache-control', 'no-store').redirect(step.to, 303);
    if (step.kind === 'set-up') {
      const query = new URLSearchParams({ redirect: `${base}/account/authorize/${id}` });
      return reply.header('cache-control', 'no-store').redirect(`${base}/account?${query}`, 303);
    }
    if (step.kind === 'consent') return reply.sendPage(pages.authorize.consent({ id, ...step }));
    const { client, again, loginHint, locales, registers } = step;
    const target = {
      application: client.label,
      redirect: `${base}/account/authorize/${id}`,
      again,
      loginHint,
      locales,
    };
    return reply.sendPage(pages.signIn(registers && !again ? 'register' : 'login', undefined, target));
  });

  const body = Type.Object({ allow: Type.Boolean() }, { additionalProperties: false });
  app.post('/authorize/:id', { schema: { params, body } }, async (request) => {
    request.requireOwnSite();
    const session = await request.browserSession();
    const ids = request.cookieValues(requestCookie);
    const { params, body, client } = request;
    return { data: { redirect: await authorizationRequests.decide(params.id, ids, session, body.allow, client) } };
  });
}
