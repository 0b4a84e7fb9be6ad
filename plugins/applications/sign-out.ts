import { decodeJwt } from 'jose';
import type { Client as LibraryClient } from 'oidc-provider';
import { type DisplayedClient, displayedClient } from './authorization-requests.js';
import type { BrowserSession } from './provider/exchange.js';
import type { RunningProvider } from './provider/index.js';

/** The parameters of a request to sign out (OpenID Connect RP-Initiated Logout 1.0, 2). */
export interface SignOutParameters {
  id_token_hint?: string | undefined;
  client_id?: string | undefined;
  post_logout_redirect_uri?: string | undefined;
  state?: string | undefined;
}

/** A request of a client to sign the user out. */
export interface SignOutRequest {
  /** Whether the ID token shows that the request is about the session of this browser. Otherwise, the user has to confirm it. */
  isCertain: boolean;
  client: DisplayedClient | null;
  clientId: string | null;
  /** Where to redirect the browser afterwards, if the client has registered the URL. */
  to: string | null;
}

export interface ClientSignOut {
  read(parameters: SignOutParameters, session: BrowserSession | null): Promise<SignOutRequest>;
}

export function createSignOut(running: () => Promise<RunningProvider>): ClientSignOut {
  /** The client of an ID token, and whose it is. Its expiry does not matter, because sessions last longer than ID tokens. */
  const readHint = async (hint: string, clientId: string | undefined) => {
    const { provider } = await running();
    try {
      const { aud } = decodeJwt(hint);
      if (typeof aud !== 'string' || (clientId !== undefined && clientId !== aud)) return undefined;
      const client = await provider.Client.find(aud);
      if (!client) return undefined;
      const { payload } = await provider.IdToken.validate(hint, client);
      return { client, payload };
    } catch {
      return undefined;
    }
  };
  const findClient = async (id: string): Promise<LibraryClient | undefined> => {
    const { provider } = await running();
    return provider.Client.find(id).catch(() => undefined);
  };

  return {
    read: async ({ id_token_hint: hint, client_id: id, post_logout_redirect_uri: uri, state }, session) => {
      const proof = hint === undefined ? undefined : await readHint(hint, id);
      const client = proof?.client ?? (id === undefined ? undefined : await findClient(id));
      const { sub, sid } = proof?.payload ?? {};
      const isOfSession = session !== null && sub === session.user && (sid === undefined || sid === session.id);
      return {
        isCertain: proof !== undefined && (session === null || isOfSession),
        client: client ? displayedClient(client) : null,
        clientId: client?.clientId ?? null,
        to: client && uri !== undefined && client.postLogoutRedirectUriAllowed(uri) ? withState(uri, state) : null,
      };
    },
  };
}

function withState(uri: string, state: string | undefined): string {
  if (state === undefined) return uri;
  const url = new URL(uri);
  url.searchParams.set('state', state);
  return url.href;
}
