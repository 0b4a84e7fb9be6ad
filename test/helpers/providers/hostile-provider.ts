import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { CompactSign } from 'jose';
import type { Test } from 'tap';
import {
  type Answer,
  type Asked,
  formTo,
  json,
  jsonText,
  redirectTo,
  startWebServer,
  status,
} from '../servers/web-server.js';
import { clientIn } from './oauth2-server.js';
import { providerVariables } from './openid-provider.js';

type Json = Record<string, unknown>;

/** How an issuer lies. It responds truthfully to all other requests. */
export interface Lies {
  /** Fixed responses to all requests, by endpoint. */
  answers?: Partial<Record<'discovery' | 'keys' | 'token' | 'userinfo', Answer>>;
  /** Functions that alter the truthful response. */
  discovery?: (truth: Json) => Json;
  token?: (truth: Json) => Json;
  userinfo?: (truth: Json) => Json;
  /** Returns the ID token, given its correct claims. */
  idToken?: (truth: Json) => string | Promise<string>;
  /** Returns the parameters of the redirect or the form that returns the browser to the service. */
  callback?: (truth: URLSearchParams) => URLSearchParams;
  /** Whether the token endpoint rejects clients that send a code verifier, as LinkedIn's does. */
  rejectsPkce?: boolean;
  /** The only way in which the token endpoint accepts the client secret. */
  clientAuth?: 'client_secret_basic' | 'client_secret_post';
}

/** An OpenID Provider without a login page, whose responses are controlled by the test. */
export interface HostileIssuer {
  readonly issuer: string;
  /** The environment variables that configure it as the provider `key` of a service. */
  variables(key: string, others?: Record<string, string>): Record<string, string>;
  lies: Lies;
  /** The true claims of the user of subsequent logins. */
  claims: Json;
  /** Creates the claims of a new user and uses them for subsequent logins. */
  useNewUser(others?: Json): { sub: string; email: string };
  /** The requests received so far, oldest first. */
  readonly asked: Asked[];
}

interface Login {
  client: string;
  nonce: string | null;
  challenge: string | null;
  claims: Json;
}

const clientId = 'client-of-a-hostile-provider';
const clientSecret = 'its secret';

const signingKey = newKey();
const strangeKey = newKey();
const publicKey = createPublicKey(signingKey);
const publicJwk = { ...publicKey.export({ format: 'jwk' }), kid: 'signing', alg: 'RS256', use: 'sig' };
const keySet = JSON.stringify({ keys: [publicJwk] });

function newKey(): KeyObject {
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
}

/** Starts issuers on one server. Each has its own path, so that nothing cached for one applies to another. */
export async function startHostileIssuers<Name extends string>(
  t: Test,
  names: readonly Name[],
): Promise<Record<Name, HostileIssuer>> {
  const issuers = new Map<string, { issuer: HostileIssuer; answer: (asked: Asked, path: string) => Promise<Answer> }>();
  const origin = await startWebServer(t, (asked) => {
    const [, name = '', path = ''] = /^\/([^/]+)(\/.*)$/.exec(asked.url.pathname) ?? [];
    return issuers.get(name)?.answer(asked, path) ?? status(404);
  });
  for (const name of names) issuers.set(name, createIssuer(`${origin}/${name}`));
  return Object.fromEntries([...issuers].map(([name, { issuer }]) => [name, issuer])) as Record<Name, HostileIssuer>;
}

let newcomers = 0;

function createIssuer(url: string) {
  const logins = new Map<string, Login>();
  const tokens = new Map<string, Login>();

  const authorize = ({ url: { searchParams } }: Asked): Answer => {
    const code = randomBytes(16).toString('hex');
    logins.set(code, {
      client: searchParams.get('client_id') ?? '',
      nonce: searchParams.get('nonce'),
      challenge: searchParams.get('code_challenge'),
      claims: issuer.claims,
    });
    const truth = new URLSearchParams({ code, state: searchParams.get('state') ?? '', iss: url });
    const returned = issuer.lies.callback?.(truth) ?? truth;
    const target = searchParams.get('redirect_uri') ?? '';
    return searchParams.get('response_mode') === 'form_post'
      ? formTo(target, returned)
      : redirectTo(`${target}?${returned}`);
  };

  const giveTokens = async ({ headers, form }: Asked): Promise<Answer> => {
    const { lies } = issuer;
    const login = logins.get(form.get('code') ?? '');
    const client = clientIn(headers.authorization, form);
    const method = headers.authorization === undefined ? 'client_secret_post' : 'client_secret_basic';
    if ((lies.clientAuth ?? method) !== method) return json({ error: 'invalid_client' }, 401);
    if (client?.id !== clientId || client.secret !== clientSecret) return json({ error: 'invalid_client' }, 401);
    const verifier = form.get('code_verifier');
    if (lies.rejectsPkce && verifier !== null) return json({ error: 'invalid_client' }, 401);
    const challenge = verifier === null ? null : createHash('sha256').update(verifier).digest('base64url');
    if (!login || login.challenge !== challenge) return json({ error: 'invalid_grant' }, 400);
    const now = Math.floor(Date.now() / 1000);
    const { sub } = login.claims;
    const claims = { iss: url, sub, aud: login.client, nonce: login.nonce, iat: now, exp: now + 300 };
    const access_token = `provider-token-${randomBytes(16).toString('hex')}`;
    tokens.set(access_token, login);
    const id_token = await (lies.idToken ?? sign)(claims);
    const truth = { access_token, token_type: 'Bearer', expires_in: 300, id_token };
    return json(lies.token?.(truth) ?? truth);
  };

  const tellUser = ({ headers }: Asked): Answer => {
    const login = tokens.get(/^bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '');
    if (!login) return json({ error: 'invalid_token' }, 401);
    return json(issuer.lies.userinfo?.(login.claims) ?? login.claims);
  };

  const discovery = {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    userinfo_endpoint: `${url}/userinfo`,
    jwks_uri: `${url}/keys`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  };

  const answer = async (question: Asked, path: string): Promise<Answer> => {
    issuer.asked.push(question);
    const { lies } = issuer;
    if (path === '/authorize') return authorize(question);
    // An issuer can have several discovery documents, as Microsoft does.
    const endpoint = path.endsWith('/.well-known/openid-configuration') ? 'discovery' : path.slice(1);
    const instead = lies.answers?.[endpoint as keyof NonNullable<Lies['answers']>];
    if (instead) return instead;
    if (endpoint === 'discovery') return json(lies.discovery?.(discovery) ?? discovery);
    if (endpoint === 'keys') return jsonText(keySet);
    if (endpoint === 'token') return giveTokens(question);
    if (endpoint === 'userinfo') return tellUser(question);
    return status(404);
  };

  const issuer: HostileIssuer = {
    issuer: url,
    variables: (key, others = {}) =>
      providerVariables(key, {
        DRIVER: 'openid',
        CLIENT_ID: clientId,
        CLIENT_SECRET: clientSecret,
        ISSUER_URL: url,
        ALLOW_PUBLIC_REGISTRATION: 'true',
        ...others,
      }),
    lies: {},
    claims: {},
    useNewUser: (others = {}) => {
      const sub = `newcomer-${++newcomers}`;
      const email = `${sub}@example.com`;
      issuer.claims = { sub, email, email_verified: true, given_name: 'New', family_name: 'Comer', ...others };
      return { sub, email };
    },
    asked: [],
  };
  return { issuer, answer };
}

/** Signs claims with the key of the issuer, unless another key is given. */
export function sign(
  claims: Json,
  header: { alg: string } & Json = { alg: 'RS256', kid: 'signing' },
  key: KeyObject | Uint8Array = signingKey,
): Promise<string> {
  return new CompactSign(Buffer.from(JSON.stringify(claims))).setProtectedHeader(header).sign(key);
}

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
const hmac = (claims: Json, secret: string, more: Json = {}) =>
  sign(claims, { alg: 'HS256', kid: 'signing', ...more }, Buffer.from(secret));

/** ID tokens that are correct except for their signature. */
export const forgeries: Record<string, (claims: Json) => string | Promise<string>> = {
  'a signature with a flipped bit': async (claims) => {
    const [head, body, signature = ''] = (await sign(claims)).split('.');
    const bytes = Buffer.from(signature, 'base64url');
    bytes[7] = (bytes[7] ?? 0) ^ 1;
    return `${head}.${body}.${bytes.toString('base64url')}`;
  },
  'a truncated signature': async (claims) => (await sign(claims)).slice(0, -8),
  'an empty signature': async (claims) => (await sign(claims)).replace(/[^.]*$/, ''),
  'no signature part': async (claims) => (await sign(claims)).replace(/\.[^.]*$/, ''),
  'claims changed after signing': async (claims) => {
    const [head, , signature] = (await sign(claims)).split('.');
    return `${head}.${encode({ ...claims, sub: 'somebody-else' })}.${signature}`;
  },
  ...Object.fromEntries(
    ['none', 'None', 'NONE', 'nOnE', ''].map((alg) => [
      `alg ${JSON.stringify(alg)}`,
      (claims: Json) => `${encode({ alg, kid: 'signing' })}.${encode(claims)}.`,
    ]),
  ),
  'alg none with the original signature': async (claims) =>
    (await sign(claims)).replace(/^[^.]*/, encode({ alg: 'none', kid: 'signing' })),
  'HS256 with the public key as PEM': (claims) =>
    hmac(claims, publicKey.export({ type: 'spki', format: 'pem' }).toString()),
  'HS256 with the public key as PEM, trimmed': (claims) =>
    hmac(claims, publicKey.export({ type: 'spki', format: 'pem' }).toString().trim()),
  'HS256 with the JSON of the key': (claims) => hmac(claims, JSON.stringify(publicJwk)),
  'HS256 with the JSON of the key set': (claims) => hmac(claims, keySet),
  'HS256 with the modulus': (claims) => hmac(claims, publicJwk.n ?? ''),
  'HS256 with the client secret': (claims) => hmac(claims, clientSecret),
  'a key of another kid': (claims) => sign(claims, { alg: 'RS256', kid: 'strange' }, strangeKey),
  'another key with the kid of the correct one': (claims) => sign(claims, undefined, strangeKey),
  'another key without a kid': (claims) => sign(claims, { alg: 'RS256' }, strangeKey),
  'a key embedded in the token': (claims) =>
    sign(
      claims,
      { alg: 'RS256', kid: 'signing', jwk: createPublicKey(strangeKey).export({ format: 'jwk' }) },
      strangeKey,
    ),
  'RS384 with the kid of an RS256 key': (claims) => sign(claims, { alg: 'RS384', kid: 'signing' }),
  'an unknown critical extension': (claims) =>
    new CompactSign(Buffer.from(JSON.stringify(claims)))
      .setProtectedHeader({ alg: 'RS256', kid: 'signing', crit: ['unheard-of'], 'unheard-of': true })
      .sign(signingKey, { crit: { 'unheard-of': true } }),
  'five parts': async (claims) => `${await sign(claims)}.x.y`,
  'no token at all': () => 'no token at all',
  'an empty text': () => '',
};

/** A key set that the service should never request. */
export const strangeKeys = (): Answer =>
  json({
    keys: [{ ...createPublicKey(strangeKey).export({ format: 'jwk' }), kid: 'strange', alg: 'RS256', use: 'sig' }],
  });

/** Creates tokens whose header contains the URL of the signing key. */
export const pointingAt = (where: string) => (claims: Json) =>
  sign(claims, { alg: 'RS256', kid: 'strange', jku: where, x5u: where }, strangeKey);
