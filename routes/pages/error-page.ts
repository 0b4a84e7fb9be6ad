import { ApiError, routeNotFound } from '../../schemas/errors.js';
import { type App, wantsHtml } from '../app.js';

/** Browsers get a page instead of the error that clients of the API get. */
export function errorPage(app: App): void {
  app.setErrorHandler(async (error, request, reply) => {
    const isForPerson = request.method === 'GET' && wantsHtml(request);
    if (!isForPerson) throw error;
    const status = error instanceof ApiError ? error.status : 500;
    if (status >= 500) request.log.error({ err: error }, 'a page could not be shown');
    if (error instanceof ApiError && error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter);
    return reply.code(status).sendPage(app.pages.error(status));
  });
  app.setNotFoundHandler((request) => {
    throw routeNotFound(request);
  });
}
