import { createHash, randomBytes } from 'node:crypto';
import type { Test } from 'tap';
import { type Answer, type Asked, json, redirectTo, startWebServer, status } from '../servers/web-server.js';
import { providerVariables } from './openid-provider.js';

/** A provider without OpenID Connect and without a login page. The test chooses the user who logs in. */
export interface Oauth2Server {
  readonly origin: string;
  /** The environment variables that configure it as the provider `key` of a service. */
  variables(key: string, others?: Record<string, string>): Record<string, string>;
  /** The user of subsequent logins, as returned by `/user`. Ids are numeric, as on GitHub. */
  profile: Record<string, unknown>;
  /** The response of `/user/emails`, in GitHub's format. */
  emails: unknown[];
  /** Responses that replace the normal ones, by path. */
  answers: Partial<Record<'/token' | '/user' | '/user/emails', Answer>>;
  /** The only way in which the token endpoint accepts the client secret. */
  clientAuth?: 'client_secret_basic' | 'client_secret_post' | undefined;
  /** Sends the tokens in another way than the client asks for. */
  tokenAnswer?: ((given: Record<string, string>) => Answer) | undefined;
  /** Whether a code can be used more than once, which a correct provider does not allow. */
  acceptsReusedCodes: boolean;
  /** The requests received so far, oldest first. */
  readonly asked: Asked[];
}

interface Grant {
  client: string;
  redirectUri: string;
  challenge: string;
  profile: Record<string, unknown>;
  emails: unknown[];
}

const clientSecret = 'the secret of an OAuth2 client';
const clientOf = (key: string) => `client-of-${key}`;

/**
 * Starts a server for the authorization code flow with PKCE (RFC 6749, RFC 7636), with a client for each key.
 * @param publicUrl the URL of the service to which users are redirected
 */
export async function startOauth2Server(
  t: Test,
  { publicUrl, keys }: { publicUrl: string; keys: readonly string[] },
): Promise<Oauth2Server> {
  const codes = new Map<string, Grant>();
  const tokens = new Map<string, Grant>();
  const redirectUris = new Map(keys.map((key) => [clientOf(key), `${publicUrl}/auth/login/${key}/callback`]));

  const authorize = ({ url: { searchParams } }: Asked): Answer => {
    const client = searchParams.get('client_id') ?? '';
    const redirectUri = searchParams.get('redirect_uri') ?? '';
    const challenge = searchParams.get('code_challenge') ?? '';
    if (searchParams.get('response_type') !== 'code') return status(400, 'response_type');
    if (redirectUris.get(client) !== redirectUri) return status(400, `redirect_uri ${redirectUri}`);
    if (searchParams.get('code_challenge_method') !== 'S256') return status(400, 'code_challenge_method');
    if (!/^[\w-]{43}$/.test(challenge)) return status(400, 'code_challenge');
    const code = randomBytes(16).toString('hex');
    const { profile, emails } = self;
    codes.set(code, { client, redirectUri, challenge, profile, emails });
    return redirectTo(`${redirectUri}?${new URLSearchParams({ code, state: searchParams.get('state') ?? '' })}`);
  };

  const giveToken = ({ headers, form }: Asked): Answer => {
    const code = form.get('code') ?? '';
    const grant = codes.get(code);
    if (!self.acceptsReusedCodes) codes.delete(code);
    const client = clientIn(headers.authorization, form);
    if (client?.secret !== clientSecret) return json({ error: 'invalid_client' }, 401);
    const method = headers.authorization === undefined ? 'client_secret_post' : 'client_secret_basic';
    if ((self.clientAuth ?? method) !== method) return json({ error: 'unauthorized_client' }, 401);
    const verifier = form.get('code_verifier') ?? '';
    const isRight =
      form.get('grant_type') === 'authorization_code' &&
      grant?.client === client.id &&
      grant.redirectUri === form.get('redirect_uri') &&
      /^[\w.~-]{43,128}$/.test(verifier) &&
      grant.challenge === createHash('sha256').update(verifier).digest('base64url');
    if (!isRight) return json({ error: 'invalid_grant' }, 400);
    const token = `provider-token-${randomBytes(16).toString('hex')}`;
    tokens.set(token, grant);
    const given = { access_token: token, token_type: 'bearer', scope: 'read:user' };
    if (self.tokenAnswer) return self.tokenAnswer(given);
    // Like GitHub, returns JSON only if the client requests it.
    return headers.accept?.includes('application/json') ? json(given) : formOf(given);
  };

  const show = (part: 'profile' | 'emails', { headers }: Asked): Answer => {
    if (!headers['user-agent']) return json({ message: 'Say who you are' }, 403);
    const grant = tokens.get(/^bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '');
    return grant ? json(grant[part]) : json({ message: 'Bad credentials' }, 401);
  };

  const asked: Asked[] = [];
  const origin = await startWebServer(t, (question) => {
    asked.push(question);
    const { pathname } = question.url;
    const instead = self.answers[pathname as keyof Oauth2Server['answers']];
    if (instead) return instead;
    if (pathname === '/authorize') return authorize(question);
    if (pathname === '/token' && question.method === 'POST') return giveToken(question);
    if (pathname === '/user') return show('profile', question);
    if (pathname === '/user/emails') return show('emails', question);
    return status(404);
  });

  const self: Oauth2Server = {
    origin,
    variables: (key, others = {}) =>
      providerVariables(key, {
        DRIVER: 'oauth2',
        CLIENT_ID: clientOf(key),
        CLIENT_SECRET: clientSecret,
        AUTHORIZE_URL: `${origin}/authorize`,
        ACCESS_URL: `${origin}/token`,
        PROFILE_URL: `${origin}/user`,
        IDENTIFIER_KEY: 'id',
        EMAIL_KEY: 'email',
        FIRST_NAME_KEY: 'name',
        ...others,
      }),
    profile: {},
    emails: [],
    answers: {},
    acceptsReusedCodes: false,
    asked,
  };
  return self;
}

const formOf =
  (fields: Record<string, string>): Answer =>
  (response) =>
    response
      .writeHead(200, { 'content-type': 'application/x-www-form-urlencoded' })
      .end(String(new URLSearchParams(fields)));

/** The client's credentials, from the header (RFC 6749, 2.3.1) or from the form fields. */
export function clientIn(authorization: string | undefined, form: URLSearchParams) {
  const [, basic] = /^Basic (.+)$/i.exec(authorization ?? '') ?? [];
  if (basic !== undefined) {
    const [id = '', secret = ''] = Buffer.from(basic, 'base64')
      .toString()
      .split(':')
      .map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
    return { id, secret };
  }
  const [id, secret] = [form.get('client_id'), form.get('client_secret')];
  return id !== null && secret !== null ? { id, secret } : undefined;
}
