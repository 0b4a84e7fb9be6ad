import { ApiError } from '../../schemas/errors.js';
import type { Client } from '../http/caller.js';
import { type BrowserSession, createExchange } from './provider/exchange.js';
import type { RunningProvider } from './provider/index.js';
import type { ProtocolRequest, ProtocolResponse } from './provider/provider.js';

/** The endpoints of OAuth 2.1 and OpenID Connect that the library implements. */
export interface Protocol {
  /**
   * Responds to a request.
   * @param from.arrived when it arrived, as in `performance.now()`
   * @returns `needsErrorPage`: whether the user gets an error page, because the browser cannot be redirected to the client
   */
  respond(
    request: ProtocolRequest,
    from: { client: Client; arrived: number; session: BrowserSession | null },
  ): Promise<ProtocolResponse & { needsErrorPage: boolean }>;
  /** OpenID Connect Core, 5.3. */
  userInfo: Protocol['respond'];
  /** RFC 7662. */
  introspect: Protocol['respond'];
  /** RFC 7009. */
  revoke: Protocol['respond'];
}

export function createProtocol(running: () => Promise<RunningProvider>): Protocol {
  const respond: Protocol['respond'] = async (request, { client, arrived, session }) => {
    if (hasNul(request)) throw new ApiError('INVALID_PAYLOAD', { reason: 'The request contains a NUL character' });
    const provider = await running();
    const exchange = createExchange(client, { arrived, session });
    const response = await provider.respond(request, exchange);
    return { ...response, needsErrorPage: exchange.needsErrorPage === true };
  };
  /** Responds to a request with a `token` in its form. The library refuses JWTs, but finds their records like those of any other token. */
  const respondAboutToken: Protocol['respond'] = async (request, from) => {
    const form = new URLSearchParams(request.body.toString());
    const [token, ...others] = form.getAll('token');
    if (token === undefined || others.length > 0) return respond(request, from);
    const { tokens } = await running();
    form.set('token', await tokens.handleOf(token));
    return respond({ ...request, body: Buffer.from(form.toString()) }, from);
  };
  const withoutErrorPage = (response: ProtocolResponse | undefined) =>
    response && { ...response, needsErrorPage: false };
  return {
    respond,
    userInfo: async (request, from) => {
      const { validTokens } = await running();
      return withoutErrorPage(await validTokens.userInfo(request)) ?? respond(request, from);
    },
    introspect: async (request, from) => {
      const { validTokens } = await running();
      return withoutErrorPage(await validTokens.introspect(request, from.client)) ?? respondAboutToken(request, from);
    },
    revoke: respondAboutToken,
  };
}

/** Whether a parameter may contain a NUL character, which PostgreSQL cannot store. */
const hasNul = ({ url, body }: ProtocolRequest): boolean =>
  url.includes('%00') || body.includes('%00') || body.includes('\0');
