import { createServer, type Server } from 'node:http';
import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose';
import type { Test } from 'tap';
import { atEndOf } from '../runner/teardown.js';
import { freePort, listen } from '../servers/ports.js';

/** The endpoint of an application that receives logout tokens (OpenID Connect Back-Channel Logout 1.0). */
export interface LogoutReceiver {
  uri: string;
  /** The logout tokens that it has received, latest last. */
  tokens: string[];
  /** The status with which it responds. */
  status: number;
  /** Stops and starts the server. */
  close(): Promise<void>;
  open(): Promise<void>;
}

/** Starts the endpoint of an application. @param query a query of the URI */
export async function startLogoutReceiver(t: Test, query = ''): Promise<LogoutReceiver> {
  const port = await freePort();
  let server: Server | undefined;
  const receiver: LogoutReceiver = {
    uri: `http://127.0.0.1:${port}/logout${query}`,
    tokens: [],
    status: 200,
    close: async () => {
      server?.closeAllConnections();
      await new Promise((resolve) => server?.close(resolve));
    },
    open: async () => {
      server = createServer(async (request, response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const isForm = request.headers['content-type'] === 'application/x-www-form-urlencoded';
        const token = new URLSearchParams(String(Buffer.concat(chunks))).get('logout_token');
        if (isForm && request.method === 'POST' && token !== null) receiver.tokens.push(token);
        response.writeHead(receiver.status).end();
      });
      await listen(server, port);
    },
  };
  await receiver.open();
  atEndOf(t, () => receiver.close());
  return receiver;
}

/** Validates a logout token as an application does (Back-Channel Logout 1.0, 2.6). @returns its claims */
export async function verifyLogoutToken(token: string, issuer: string, client: string): Promise<JWTPayload> {
  const keys = createRemoteJWKSet(new URL(`${issuer}/oauth/jwks`));
  const options = { issuer, audience: client, typ: 'logout+jwt', requiredClaims: ['iat', 'exp', 'jti', 'events'] };
  const { payload } = await jwtVerify(token, keys, options);
  const { events, nonce, sub, sid } = payload;
  const isLogout = 'http://schemas.openid.net/event/backchannel-logout' in (events as object);
  if (!isLogout || nonce !== undefined || (sub === undefined && sid === undefined))
    throw new Error(`This is not a logout token: ${JSON.stringify(payload)}`);
  return payload;
}
