import { Type } from '@sinclair/typebox';
import { ApiError } from '../../schemas/errors.js';
import type { App } from '../app.js';

/** Characters. Longer than any code, with its separators. */
const maxUserCodeLength = 20;

/** What the page does on which users enter the code that a device shows. */
export function device(app: App): void {
  const { devices } = app.openIdProvider;

  const body = Type.Object(
    { user_code: Type.String({ minLength: 1, maxLength: maxUserCodeLength }), allow: Type.Optional(Type.Boolean()) },
    { additionalProperties: false },
  );
  app.post('/device', { schema: { body } }, async (request, reply) => {
    request.requireOwnSite();
    const session = await request.browserSession();
    if (!session) throw new ApiError('INVALID_CREDENTIALS');
    const { user_code: code, allow } = request.body;
    if (allow !== undefined) {
      await devices.decide(code, session, allow, request.client);
      return reply.code(204).send();
    }
    const { client, access } = await devices.find(code, session, request.client);
    return { data: { client: client.name, host: client.host, access } };
  });
}
