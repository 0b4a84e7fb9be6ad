import {
  ActivityVerificationQuery,
  ActivityVerificationResponse,
  readHead,
  writeHead,
} from '../../schemas/activity.js';
import { errorResponses } from '../../schemas/errors.js';
import type { App } from '../app.js';

/** The number of entries that one request verifies at most, so that none takes long. */
const limit = 2_000;

export function verifyActivity(app: App): void {
  app.get(
    '/verification',
    {
      config: { access: 'authenticated', needs: 'administrator' },
      schema: {
        operationId: 'verifyActivity',
        tags: ['Activity'],
        summary: 'Verify the audit log',
        description: `Verifies that the entries of the audit log were not altered, removed, inserted, or reordered, and stops at the first fault. Each request verifies up to ${limit.toLocaleString('en-US')} entries. To verify the whole log, repeat the request with the \`head\` of the response as \`after\` until \`complete\` is true. Only administrators can call this operation.`,
        querystring: ActivityVerificationQuery,
        response: {
          200: { ...ActivityVerificationResponse, description: 'The result of the verification.' },
          ...errorResponses('INVALID_QUERY'),
        },
      },
    },
    async (request) => {
      const { after } = request.query;
      const noted = after === undefined ? undefined : readHead(after);
      const verdict = await app.verifyActivity({ noted, isContinued: true, limit });
      if (!verdict.isIntact) {
        return { data: { intact: false, fault: verdict.fault, complete: false, verified: 0, head: null } };
      }
      const { isComplete: complete, linked, unlinked, head } = verdict;
      return {
        data: { intact: true, fault: null, complete, verified: linked + unlinked, head: head && writeHead(head) },
      };
    },
  );
}
