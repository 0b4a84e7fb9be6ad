import { createHash } from 'node:crypto';
import type { Test } from 'tap';
import { create } from '../applications/clients.js';
import { listen } from '../http/raw-http.js';
import { asAdmin, patch, startWithAdmin } from '../http/writing.js';
import type { TestApp } from '../service/app.js';
import { administrator } from '../users/credentials.js';
import { logIn } from '../users/sessions.js';
import { createUser } from '../users/users.js';
import type { WireAnswer } from './wire.js';

/** A request as its parts, so that one of them can be changed. */
export interface ProtocolRequest {
  method: string;
  path: string;
  query: Pair[];
  /** The parameters of a form; absent if there is no form. */
  form?: Pair[];
  headers: Record<string, string>;
  /** Takes the place of the form. */
  body?: Buffer;
}

/** The name and the value of a parameter. `isEncoded`: they are sent as they are. */
export type Pair = readonly [name: string, value: string, isEncoded?: true];

export interface FuzzClient {
  id: string;
  /** Empty for a public client. */
  secret: string;
  redirectUri: string;
  scope: string;
  resource: string;
}

export interface Issued {
  value: string;
  client: FuzzClient;
}

/** A service with clients and users, and what it has issued to them. */
export interface ProtocolWorld extends TestApp {
  url: string;
  port: number;
  clients: Record<'web' | 'shop' | 'app' | 'worker', FuzzClient>;
  /** The cookies of two signed-in users. */
  sessions: string[];
  /** The headers of an administrator and of another user. */
  callers: Record<string, string>[];
  /** Clients, resources, and users that only requests to the JSON API use. */
  spareIds: string[];
  issued: Record<IssuedKind, Issued[]>;
  /** Signs the users in again, if requests have signed them out. */
  signIn(): Promise<void>;
}

export const issuedKinds = [
  'code',
  'refreshToken',
  'accessToken',
  'jwt',
  'idToken',
  'deviceCode',
  'userCode',
  'requestUri',
  'interaction',
] as const;
export type IssuedKind = (typeof issuedKinds)[number];

export const verifier = 'the-verifier-of-every-authorization-request-of-this-test';
export const challenge = createHash('sha256').update(verifier).digest('base64url');
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
export const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';

export const redirectUris = [
  'https://app.example.com/callback',
  'com.example.app:/callback',
  'http://127.0.0.1/callback',
] as const;
export const signedOutUri = 'https://app.example.com/signed-out';
const [api, other] = ['https://api.example.com/', 'https://other.example.com/'];
const maxKept = 12;

/** Starts a service with clients of each type. */
export async function createProtocolWorld(t: Test): Promise<ProtocolWorld> {
  const url = 'http://127.0.0.1:8055';
  const service = await startWithAdmin(t, { PUBLIC_URL: url });
  const port = await listen(service.app);
  for (const [identifier, scopes] of Object.entries({ [api]: ['orders:read', 'orders:write'], [other]: [] }))
    await create(service, '/resources', { identifier, name: 'An API', scopes });
  await patch(service, '/settings', {
    unregistered_clients: 'listed',
    // The service connects to public addresses only, so it sends nothing.
    unregistered_client_hosts: ['localhost'],
  });
  const common = {
    redirect_uris: redirectUris,
    post_logout_redirect_uris: [signedOutUri],
    allowed_origins: ['https://app.example.com'],
    resources: [api, other],
  };
  const add = async (values: object, scope: string): Promise<FuzzClient> => {
    const { id, secret = '' } = await create(service, '/clients', { name: 'A client', ...common, ...values });
    return { id, secret, redirectUri: redirectUris[0], scope, resource: api };
  };
  const code = ['authorization_code', 'refresh_token'];
  const clients = {
    web: await add(
      {
        type: 'confidential',
        first_party: true,
        grant_types: [...code, 'client_credentials', deviceGrant, exchangeGrant],
      },
      'openid profile email roles offline_access users:read',
    ),
    shop: await add(
      { type: 'confidential', pkce_required: false, grant_types: [...code, deviceGrant] },
      'openid email orders:read',
    ),
    app: await add(
      {
        type: 'public',
        first_party: true,
        grant_types: [...code, deviceGrant],
        id_token_signed_response_alg: 'EdDSA',
      },
      'openid groups offline_access',
    ),
    worker: await add(
      { type: 'confidential', grant_types: ['client_credentials'], redirect_uris: [], resources: [other] },
      '',
    ),
  };
  clients.worker.resource = other;
  const { app } = service;
  const member = await createUser(app, { avatar: 'https://pictures.example.com/1.png', firstName: 'Ada' });
  const spare = [
    await create(service, '/clients', { name: 'Spare', type: 'confidential', ...common }),
    await create(service, '/resources', { identifier: 'https://spare.example.com', name: 'Spare' }),
  ];
  const sessions: string[] = [];
  const issued = Object.fromEntries(issuedKinds.map((kind) => [kind, []])) as unknown as ProtocolWorld['issued'];
  const signIn = async () => {
    const users = [administrator, { email: member.email, password: member.password }];
    const opened = await Promise.all(users.map((user) => logIn(service, 'session', user)));
    sessions.splice(0, sessions.length, ...opened.map(({ headers }) => headers.cookie ?? ''));
  };
  await signIn();
  const { headers } = await logIn(service, 'json', { email: member.email, password: member.password });
  return {
    ...service,
    url,
    port,
    clients,
    sessions,
    callers: [asAdmin, headers, {}],
    spareIds: [...spare.map(({ id }) => id), member.id],
    issued,
    signIn,
  };
}

/** Keeps something that a client was issued, and forgets the oldest. */
export function keep({ issued }: ProtocolWorld, kind: IssuedKind, value: unknown, client: FuzzClient): void {
  if (typeof value !== 'string' || value === '') return;
  issued[kind].push({ value, client });
  if (issued[kind].length > maxKept) issued[kind].shift();
}

/** Keeps the tokens of a response. */
export function keepTokens(world: ProtocolWorld, client: FuzzClient, { status, body }: WireAnswer): void {
  if (status !== 200) return;
  const tokens = JSON.parse(body) as Record<string, string>;
  keep(world, isJwt(tokens.access_token) ? 'jwt' : 'accessToken', tokens.access_token, client);
  keep(world, 'refreshToken', tokens.refresh_token, client);
  keep(world, 'idToken', tokens.id_token, client);
}

const isJwt = (token = '') => token.split('.').length === 3;

/** Keeps the code in a redirect to a client, or the request that the user has to decide about. */
export function keepRedirect(world: ProtocolWorld, client: FuzzClient, answer: WireAnswer): void {
  const { location } = answer.headers;
  if (typeof location !== 'string') return;
  const to = new URL(location, world.url);
  keep(world, 'code', to.searchParams.get('code'), client);
  const id = /^\/account\/authorize\/([\w-]+)$/.exec(to.pathname)?.[1];
  if (id === undefined) return;
  const cookies = [answer.headers['set-cookie'] ?? []].flat().map((cookie) => cookie.split(';', 1)[0]);
  keep(world, 'interaction', `${id} ${[...new Set(cookies)].join('; ')}`, client);
}
