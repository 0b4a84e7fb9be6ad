import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { render } from '../http/errors.js';
import { bareHeaders } from '../http/headers.js';
import { pathOf } from '../http/request-parsing.js';

/** Responds to requests that Fastify rejects before routing. No hooks run for these, so this also counts and logs the request. */
export function respondToFrameworkError(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  const answer = (thrown: unknown) => {
    render(thrown, request, reply.headers(bareHeaders));
    const { method, url, ip } = request;
    request.log.info({ method, path: pathOf(url), status: reply.statusCode, ip }, 'request');
  };
  request.server.enforceRequestLimit(request).then(() => answer(error), answer);
}
