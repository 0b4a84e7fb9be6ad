import { errorResponses } from '../../schemas/errors.js';
import { ExplainBody, ExplanationResponse } from '../../schemas/explanations.js';
import type { App } from '../app.js';

export function explainPermissions(app: App): void {
  app.post(
    '/explain',
    {
      config: { access: 'authenticated', needs: 'administrator', notRecorded: 'Changes nothing.' },
      schema: {
        operationId: 'explainPermissions',
        tags: ['Permissions'],
        summary: 'Explain permissions',
        description:
          'Explains what a user, a role, or anonymous callers may do with a collection, one of its items, or a field, and which permissions allow it. The service computes the response with the code that decides requests. With `changes`, the response describes the state after these changes, which are not made. Only administrators can call this operation.',
        body: ExplainBody,
        response: {
          200: { ...ExplanationResponse, description: 'The explanation.' },
          ...errorResponses(
            'INVALID_QUERY',
            'FAILED_VALIDATION',
            'INVALID_FOREIGN_KEY',
            'VALUE_TOO_LONG',
            'NOT_NULL_VIOLATION',
            'UNPROCESSABLE_CONTENT',
          ),
        },
      },
    },
    async (request) => ({ data: await app.explanations.explain(request.currentUser, request.body) }),
  );
}
