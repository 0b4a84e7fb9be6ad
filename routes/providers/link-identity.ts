import { Type } from '@sinclair/typebox';
import { errorResponses } from '../../schemas/errors.js';
import { LinkIdentityBody, LinkIdentityResponse, linkHeaders } from '../../schemas/providers.js';
import type { App } from '../app.js';
import { providerTimeoutMs } from './timeout.js';

export function linkIdentity(app: App): void {
  app.post(
    '/me/identities/:id',
    {
      config: {
        access: 'authenticated',
        requiresFresh: true,
        refusesManagedUsers: true,
        timeoutMs: providerTimeoutMs,
        notRecorded: 'Changes nothing until the user returns from the provider; then the linked account is recorded.',
      },
      schema: {
        operationId: 'linkIdentity',
        tags: ['Providers'],
        summary: 'Start linking a provider account',
        description:
          'Starts linking a provider account to your account, so that you can log in with it. Returns a URL of the provider and sets cookies that bind the flow to the browser. Open the URL in the same browser. When the provider redirects back, the service links the provider account and redirects the browser to `redirect`. If the provider account is already linked to another user, the flow fails with `INVALID_PROVIDER`. If you set `redirect`, the service adds the error code to it as the query parameter `reason`.',
        params: Type.Object({ id: Type.String({ description: 'The key of the provider.', examples: ['github'] }) }),
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
