import { Type } from '@sinclair/typebox';
import { errorResponses } from '../../schemas/errors.js';
import { LinkIdentityBody, LinkIdentityResponse, linkHeaders } from '../../schemas/providers.js';
import type { App } from '../app.js';
import { deadlineOfProviders } from './deadline.js';

export function linkIdentity(app: App): void {
  app.post(
    '/me/identities/:id',
    {
      config: { requiresFresh: true, deadline: deadlineOfProviders },
      schema: {
        operationId: 'linkIdentity',
        tags: ['Providers'],
        summary: 'Start linking a provider account',
        description:
          'Returns the URL at the provider to open in the same browser, and sets the cookies that bind the flow to that browser. When you return from the provider, that account can sign in to yours, and you are redirected to `redirect`. If the provider account already belongs to another account, the flow ends with `INVALID_PROVIDER`, as `?reason=` of `redirect` if you set one.',
        params: Type.Object({ id: Type.String({ description: 'Key of the provider.', examples: ['github'] }) }),
        body: LinkIdentityBody,
        response: {
          200: { ...LinkIdentityResponse, description: 'The URL to open.', headers: linkHeaders },
          ...errorResponses('ROUTE_NOT_FOUND', 'INVALID_PROVIDER_CONFIG'),
        },
      },
    },
    async (request, reply) => ({
      data: { url: await app.providerFlow.beginLink(request, reply, request.currentUser, request.body.redirect) },
    }),
  );
}
