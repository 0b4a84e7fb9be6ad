import { errorResponses } from '../../schemas/errors.js';
import type { Need } from '../../schemas/needs.js';
import { StatisticsQuery, StatisticsResponse } from '../../schemas/statistics.js';
import type { App } from '../app.js';

/** The numbers are about all entries of the audit log, so a permission that is limited to some of them is not enough. */
const needs: Need = { collection: 'activity', action: 'read', unconditional: true };

export async function statisticsRoutes(app: App): Promise<void> {
  app.get(
    '/',
    {
      config: { access: 'authenticated', needs },
      schema: {
        operationId: 'readStatistics',
        tags: ['Activity'],
        summary: 'Read statistics',
        description:
          'Returns how many users were active, signed up, and signed in during a period, and what may need attention now. All intervals begin in UTC, and the period is extended to whole intervals, of which there can be at most 750. Requires permission to read `activity` without a rule. The numbers are about all users, including those whose entries you cannot read.',
        querystring: StatisticsQuery,
        response: {
          200: { ...StatisticsResponse, description: 'The statistics.' },
          ...errorResponses('INVALID_QUERY'),
        },
      },
    },
    async (request) => {
      const { from, to, interval = 'day' } = request.query;
      return { data: await app.statistics.read(request.currentUser, { from, to, interval }) };
    },
  );
}
