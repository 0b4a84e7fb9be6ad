import { errorResponses } from '../../schemas/errors.js';
import { CheckPasswordBody, CheckPasswordResponse } from '../../schemas/password-check.js';
import type { App } from '../app.js';

export function checkPassword(app: App): void {
  app.post(
    '/password/check',
    {
      config: { access: 'anonymous', rateClass: 'password check', notRecorded: 'Changes nothing.' },
      schema: {
        operationId: 'checkPassword',
        tags: ['Authentication'],
        summary: 'Check a new password',
        description:
          'Returns whether a new password would be accepted and, if not, why. Use this operation on registration pages, because registration itself does not report that a password was rejected. The password is not stored. Each client IP address can check up to 60 passwords per minute.',
        body: CheckPasswordBody,
        response: {
          200: { ...CheckPasswordResponse, description: 'Whether the password would be accepted.' },
          ...errorResponses(),
        },
      },
    },
    async (request) => {
      const { password, email, first_name, last_name } = request.body;
      const { client } = request;
      const candidate = { password, ownTexts: [email, first_name, last_name] };
      const reasons = await app.passwordRules.reasonsAgainst(candidate, { userId: null, client });
      return { data: { acceptable: reasons.length === 0, reasons } };
    },
  );
}
