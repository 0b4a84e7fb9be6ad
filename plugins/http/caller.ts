import { setMaxListeners } from 'node:events';
import { isIPv6 } from 'node:net';
import { normalizeIP } from '@fastify/rate-limit';
import bowser from 'bowser';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PolicyRecord, PrincipalRecord } from '../../db/queries/access/principals.js';
import type { Item } from '../../db/queries/items/items.js';
import type { UnitOfWork } from '../../db/unit-of-work.js';
import { storedEmail } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import { matchRanges } from '../../schemas/ip-ranges.js';
import { definePlugin } from '../platform/plugin.js';
import type { Credential } from './credential.js';
import { bareAddress } from './trusted-proxies.js';

// Who makes a request: the client and, if the request has a valid credential, the user and their rights.

/** The origin of a request, as far as the service can determine it. */
export interface Client {
  /** The bare IP address (see `bareAddress`); null when a trusted proxy forwarded something else. */
  ip: string | null;
  userAgent: string | null;
  /** The unit by which requests are counted: the IPv4 address, or the /64 of an IPv6 address, which belongs to one customer. */
  network: string;
  /** The cookie that shows which users have signed in from this browser (`KnownBrowsers`), not verified yet. Absent: none. */
  browser?: string | undefined;
  /** The ID of the request, as in `x-request-id`. */
  requestId: string;
  /** Aborts when the response is no longer needed: the client has disconnected, or the request has timed out. */
  readonly abandoned: AbortSignal;
  /** Set if what the request writes is committed together with its response, or not at all. `dbOf` uses it. */
  unit?: UnitOfWork | undefined;
}

/** The user who causes an action, and their client. Every `Caller` is an `Origin`. */
export interface Origin {
  /** Null for an anonymous caller. */
  userId: string | null;
  client: Client;
  /** What they authenticated with, if an application could act for them. */
  credential?: Pick<Credential, 'client'> | null;
}

/** What a user may do, combined from all policies that apply to this request. */
export interface Rights {
  /** Everything is allowed. */
  admin: boolean;
  /** May read their own user and role. */
  app: boolean;
  /** Must set up a second factor, or prove the one that they have, before anything else. */
  mustSetUpTfa: boolean;
  /**
   * Whether one of the user's policies has `enforce_tfa`. Includes policies that do not apply to the address of this request, because
   * a second factor that is added or removed from here works, or is missing, everywhere.
   */
  requiresTfa: boolean;
  /** Whether the user has two-factor authentication, or the session has proved a passkey that counts as two factors. */
  satisfiesTfa: boolean;
  policies: readonly PolicyRecord[];
}

/** The caller and their rights, as they were in the database when the request arrived, or later. */
export interface Caller extends Rights {
  /** Null for an anonymous caller. */
  userId: string | null;
  role: string | null;
  roles: readonly string[];
  /** What the caller has authenticated with; null for an anonymous caller. */
  credential: Credential | null;
  client: Client;
}

/** An authenticated caller. */
export interface Principal extends Caller {
  userId: string;
  credential: Credential;
  /** Milliseconds since 1970. */
  lastAccess: number | null;
  /** The user's own row, if the route requested it and the caller may read all of it. */
  ownRow: Item | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    client: Client;
    /** The cached result of `client`; null until the first access. */
    cachedClient: Client | null;
    /** The raw response; null until the first hook has run. */
    response: FastifyReply['raw'] | null;
  }
}

const maxUserAgentLength = 255;

/**
 * If the forwarded value is not an IP address, the request counts toward the limit of the proxy that connected. An attacker
 * therefore cannot evade the limit with malformed values.
 * @param forwarded the bare address of the request, if the caller has it already
 */
export function networkOf(
  { ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>,
  forwarded: string | null = bareAddress(ip ?? ''),
): string {
  const address = forwarded ?? bareAddress(socket.remoteAddress ?? '');
  return address === null ? 'unknown' : normalizeIP(address, 64);
}

/**
 * The /48 of an IPv6 {@link Client.network}, otherwise the network itself. Some providers assign a whole /48, with 65,536 networks, to
 * each customer, and others share one among many.
 */
export const siteOf = (network: string): string => (isIPv6(network) ? `${normalizeIP(network, 48)}/48` : network);

/**
 * The normalized form of an email address, under which attempts and emails are counted. A Unicode domain is in its ASCII form. In
 * other texts, it ignores letter case, compatibility forms of letters (Unicode NFKC) and surrounding whitespace. User lookups ignore
 * only letter case. Addresses that differ in other ways but have the same normalized form were rejected earlier, or match no user.
 */
export const normalizeEmail = (email: string): string =>
  (storedEmail(email) ?? email.normalize('NFKC')).trim().toLowerCase();

/** The cookie for {@link Client.browser}. With https, its name has a prefix. */
export const knownBrowserCookie = 'gatehouse_known_browser';
const knownBrowserPattern = new RegExp(`(?:^|; *)(?:__Host-)?${knownBrowserCookie}=([\\w.-]{1,200})(?:;|$)`);

class RequestClient implements Client {
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly network: string;
  readonly requestId: string;
  unit: UnitOfWork | undefined;
  readonly #cookies: string;
  readonly #response: FastifyReply['raw'] | null;
  #abandoned: AbortSignal | undefined;

  constructor(request: FastifyRequest) {
    const userAgent = request.headers['user-agent'];
    // Undefined if the client has already disconnected.
    this.ip = bareAddress(request.ip ?? '');
    // Truncating can split a surrogate pair, and the database rejects JSON that contains half of one.
    this.userAgent = userAgent ? userAgent.slice(0, maxUserAgentLength).toWellFormed() : null;
    this.network = networkOf(request, this.ip);
    this.#cookies = request.headers.cookie ?? '';
    this.requestId = request.id;
    this.#response = request.response;
  }

  /** Only few requests need it. */
  get browser(): string | undefined {
    return knownBrowserPattern.exec(this.#cookies)?.[1];
  }

  get abandoned(): AbortSignal {
    this.#abandoned ??= abandonedSignal(this.#response);
    return this.#abandoned;
  }
}

/** Created once, because `close` also follows every normal response, where nothing reads this error. */
const disconnected = new ApiError('INVALID_PAYLOAD', { reason: 'The client has disconnected.' });

function abandonedSignal(response: FastifyReply['raw'] | null): AbortSignal {
  const controller = new AbortController();
  // A request that sets many passwords has many tasks that wait at the same time.
  setMaxListeners(0, controller.signal);
  const abort = () => controller.abort(disconnected);
  if (response?.destroyed || response?.writableEnded) abort();
  else response?.once('close', abort);
  return controller.signal;
}

/** Programs that people use, by the name that they send first (RFC 9110, 10.1.5). */
const programs = [
  ...[
    'axios',
    'Bruno',
    'curl',
    'Dart',
    'Deno',
    'Go-http-client',
    'HTTPie',
    'insomnia',
    'Java',
    'Java-http-client',
    'ky',
    'node',
  ],
  ...['node-fetch', 'okhttp', 'PostmanRuntime', 'python-requests', 'Python-urllib', 'Ruby', 'undici', 'Wget'],
];
/** The names that a device can have. The parser copies the name of a browser that it does not know from the user agent. */
const deviceNames: ReadonlySet<string | undefined> = new Set([
  ...Object.values(bowser.BROWSER_MAP),
  ...Object.values(bowser.OS_MAP),
  ...programs,
]);

const programIn = (userAgent: string) => /^[\w.-]+(?=\/|$)/.exec(userAgent)?.[0];
const namesOf = (names: readonly (string | undefined)[]) => names.filter(Boolean).join(', ') || null;

/**
 * A readable name for a user agent: browser and system, such as `Firefox, Linux`, or the name of the program; null if it is unknown.
 * Emails contain it, so all names are from a fixed list: clients can send any text. The name only helps users to recognize a session or
 * an unfamiliar sign-in. The service must not base any other decision on it. It contains no versions.
 */
export function deviceOf(userAgent: string | null): string | null {
  if (userAgent === null) return null;
  const { browser, os } = bowser.parse(userAgent);
  const name = [browser.name, programIn(userAgent)].find((known) => deviceNames.has(known));
  return namesOf([name, deviceNames.has(os.name) ? os.name : undefined]);
}

/**
 * Identifies a kind of device, to recognize it at the next sign-in. For a program that is not in the list, it contains the name that the
 * client sends, so it must not be displayed. An update of the browser does not change it.
 */
export function deviceKeyOf(userAgent: string | null): string | null {
  if (userAgent === null) return null;
  const { browser, os } = bowser.parse(userAgent);
  const program = programIn(userAgent);
  return namesOf([browser.name || (program === 'Mozilla' ? undefined : program), os.name]);
}

/** Combines the policies of a user. A policy with `ip_access` applies only to addresses in its ranges. */
export function rightsOf(principal: Pick<PrincipalRecord, 'has_tfa' | 'policies'>, ip: string | null): Rights {
  const policies = principal.policies.filter(
    (policy) => policy.ip_access === null || matchRanges(policy.ip_access)(ip),
  );
  return {
    admin: policies.some((policy) => policy.admin_access),
    app: policies.some((policy) => policy.app_access),
    mustSetUpTfa: !principal.has_tfa && policies.some((policy) => policy.enforce_tfa),
    requiresTfa: principal.policies.some((policy) => policy.enforce_tfa),
    satisfiesTfa: principal.has_tfa,
    policies,
  };
}

/** `request.client`: the IP address and the user agent, checked and shortened to the stored length. */
export const clientPlugin = definePlugin('http/caller', (_services, app) => {
  // Node.js remembers the address once it has been read. After the client has disconnected, the system no longer knows it.
  app.server.on('connection', (socket) => void socket.remoteAddress);
  app.decorateRequest('cachedClient', null);
  app.decorateRequest('response', null);
  app.addHook('onRequest', (request, reply, done) => {
    request.response = reply.raw;
    done();
  });
  app.decorateRequest('client', {
    getter(this: FastifyRequest): Client {
      this.cachedClient ??= new RequestClient(this);
      return this.cachedClient;
    },
  });
});
