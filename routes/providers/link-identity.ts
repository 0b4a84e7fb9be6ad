import { Type } from '@sinclair/typebox';
import { errorResponses } from '../../schemas/errors.js';
import { LinkIdentityBody, LinkIdentityResponse, linkHeaders } from '../../schemas/providers.js';
import type { App } from '../app.js';
import { deadlineOfProviders } from './deadline.js';

export function linkIdentity(app: App): void {
  app.post(
    '/me/identities/:id',
    {
      config: {
        access: 'authenticated',
        requiresFresh: true,
        deadline: deadlineOfProviders,
        notRecorded: 'Changes nothing until the user returns from the provider; then the linked account is recorded.',
      },
      schema: {
        operationId: 'linkIdentity',
        tags: ['Providers'],
        summary: 'Start linking a provider account',
        description:
          'Returns a URL at the provider and sets cookies that bind the flow to the browser. Open the URL in the same browser. When the provider redirects back, the provider account is linked, so you can sign in with it, and the browser is redirected to `redirect`. If the provider account is already linked to another account, the flow fails with `INVALID_PROVIDER`; if you set `redirect`, the code is passed to it as `?reason=`.',
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
