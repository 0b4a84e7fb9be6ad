import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { databaseUrlFaults } from '../../db/postgres/database-url.js';
import { parseUrl } from '../../schemas/common.js';
import { Config } from '../../schemas/config.js';
import { listOf } from '../../schemas/config-values.js';
import { prepareDataDirectory } from './data-directory.js';
import { type Environment, onePerVariable, readVariables, withoutServiceLinks } from './environment.js';
import { findMisspelledVariables } from './misspelled-variables.js';
import { definePlugin } from './plugin.js';
import { readProviders } from './provider-config.js';
import { basePathOf } from './urls.js';

declare module './plugin.js' {
  interface Services {
    config: Config;
    /** The path of PUBLIC_URL, without a trailing slash. */
    basePath: string;
  }
}

/** Keeps the service from starting. The message lists all faults in the configuration, one per line. */
export class ConfigError extends Error {
  constructor(readonly faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'an error' : `${faults.length} errors`}:\n${faults.map((f) => `  - ${f}`).join('\n')}`,
    );
    this.name = 'ConfigError';
  }
}

/**
 * Reads the configuration from environment variables. No other code reads them. An empty variable is treated as unset.
 * @throws {ConfigError} with all faults
 */
export function loadConfig(environment: Environment = process.env): Config {
  const env = withoutServiceLinks(environment);
  const read = readVariables(Config, env);
  const isListed = !read.faults.some((fault) => fault.startsWith('AUTH_PROVIDERS:'));
  const providers = readProviders(env, isListed ? listOf(String(read.candidate.AUTH_PROVIDERS ?? '')) : []);
  const faults = [...onePerVariable([...read.faults, ...combinationErrors(read.candidate)]), ...providers.faults];
  if (faults.length > 0) throw new ConfigError(faults);

  const config = Value.Decode(Config, read.candidate);
  const publicUrl = (config.PUBLIC_URL ?? `http://localhost:${config.PORT}`).replace(/\/+$/, '');
  const secure = publicUrl.startsWith('https:');
  return Object.freeze({
    ...config,
    PUBLIC_URL: publicUrl,
    SECRET: config.SECRET ?? storedSecret(config.DATA_DIR),
    ...cookieNames(read.candidate),
    REFRESH_TOKEN_COOKIE_SECURE: config.REFRESH_TOKEN_COOKIE_SECURE ?? secure,
    SESSION_COOKIE_SECURE: config.SESSION_COOKIE_SECURE ?? secure,
    // Leaves one CPU for everything else. At most three, because each concurrent hash needs a lot of memory.
    PASSWORD_HASH_CONCURRENCY: config.PASSWORD_HASH_CONCURRENCY ?? Math.min(Math.max(availableParallelism() - 1, 1), 3),
    WEBAUTHN_RP_ID: config.WEBAUTHN_RP_ID ?? new URL(publicUrl).hostname,
    PROVIDERS: providers.configs,
  });
}

/** Reads only the variables that a command needs to change the tables, so that it runs without the service's secrets. */
export function loadDatabaseConfig(env: Environment = process.env) {
  const read = readVariables(DatabaseVariables, withoutServiceLinks(env));
  const { candidate } = read;
  const faults = onePerVariable([...read.faults, ...databaseErrors(candidate)]);
  if (faults.length > 0) throw new ConfigError(faults);
  return Value.Decode(DatabaseVariables, candidate);
}

const DatabaseVariables = Type.Pick(Config, [
  'DATABASE_URL',
  'DATABASE_SCHEMA',
  'DATABASE_POOL_MAX',
  'DATA_DIR',
  'START_TIMEOUT',
]);

/** The names of the cookies. Browsers let no other host set a cookie with the prefix `__Host-`, not even a neighboring one. */
function cookieNames(candidate: Record<string, unknown>) {
  const isHttps = String(candidate.PUBLIC_URL).startsWith('https:');
  const nameOf = (cookie: 'REFRESH_TOKEN_COOKIE' | 'SESSION_COOKIE', name: string) => {
    const given = candidate[`${cookie}_NAME`];
    const isHostOnly =
      isHttps && candidate[`${cookie}_SECURE`] !== false && candidate[`${cookie}_DOMAIN`] === undefined;
    return String(given ?? (isHostOnly ? `__Host-${name}` : name));
  };
  return {
    REFRESH_TOKEN_COOKIE_NAME: nameOf('REFRESH_TOKEN_COOKIE', 'gatehouse_refresh_token'),
    SESSION_COOKIE_NAME: nameOf('SESSION_COOKIE', 'gatehouse_session_token'),
  };
}

/** Environment variables that have no effect and whose names resemble those of the service. */
export const misspelledVariables = (env: Environment = process.env) =>
  findMisspelledVariables(withoutServiceLinks(env));

function databaseErrors({ DATABASE_URL: url }: Record<string, unknown>): string[] {
  const faults = typeof url === 'string' ? databaseUrlFaults(url) : [];
  return faults.length > 0 ? [`DATABASE_URL: ${faults.join('; ')}`] : [];
}

/** Faults in the combination of several variables. */
function combinationErrors(candidate: Record<string, unknown>): string[] {
  const faults: string[] = [];
  if (candidate.DATABASE_URL !== undefined && candidate.SECRET === undefined) {
    faults.push(
      'SECRET: must be set when DATABASE_URL is set, so that all instances share it; `openssl rand -base64 32` generates a good one',
    );
  }
  faults.push(...databaseErrors(candidate));
  const names = cookieNames(candidate);
  if (names.REFRESH_TOKEN_COOKIE_NAME === names.SESSION_COOKIE_NAME) {
    faults.push('SESSION_COOKIE_NAME: must differ from REFRESH_TOKEN_COOKIE_NAME');
  }
  if (candidate.CORS_ENABLED === true && listOf(String(candidate.CORS_ORIGIN ?? '')).length === 0) {
    faults.push('CORS_ORIGIN: must list at least one origin when CORS_ENABLED is true');
  }
  const { WEBAUTHN_RP_ID: rpId, PUBLIC_URL = 'http://localhost' } = candidate;
  const publicUrl = parseUrl(String(PUBLIC_URL));
  if (typeof rpId === 'string' && publicUrl && !isRpIdOf(rpId, publicUrl.hostname)) {
    faults.push('WEBAUTHN_RP_ID: must be the host of PUBLIC_URL, or a parent domain of it');
  }
  const https = String(candidate.PUBLIC_URL).startsWith('https:');
  for (const name of ['REFRESH_TOKEN_COOKIE', 'SESSION_COOKIE']) {
    const isSecure = candidate[`${name}_SECURE`] ?? https;
    const [prefix] = /^__(Host|Secure)-/i.exec(String(candidate[`${name}_NAME`])) ?? [];
    if (prefix && (!isSecure || (prefix.toLowerCase() === '__host-' && candidate[`${name}_DOMAIN`] !== undefined))) {
      faults.push(
        `${name}_NAME: browsers accept a name with \`${prefix}\` only together with ${name}_SECURE=true, and one with \`__Host-\` only without a domain`,
      );
    }
    if (candidate[`${name}_SAME_SITE`] === 'none' && !isSecure) {
      faults.push(`${name}_SAME_SITE: browsers accept \`none\` only together with ${name}_SECURE=true`);
    }
  }
  return faults;
}

/** Whether browsers accept this RP ID on pages of the host (WebAuthn Level 3, 5.1.3). They refuse a top-level domain. */
const isRpIdOf = (rpId: string, host: string): boolean =>
  rpId === host || (rpId.includes('.') && isIP(host) === 0 && host.endsWith(`.${rpId}`));

/** The secret in the data directory. It is created on the first start, and only its owner can read it. */
function storedSecret(dataDir: string): string {
  const file = join(prepareDataDirectory(dataDir), 'secret');
  if (existsSync(file)) return readSecret(file);
  // Written to a draft and then linked into place, so that no process can read an incomplete secret after a crash or a race.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, randomBytes(48).toString('base64url'), { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
  return readSecret(file);
}

function readSecret(file: string): string {
  const secret = readFileSync(file, 'utf8').trim();
  if (secret.length < 32) {
    throw new ConfigError([
      `SECRET: ${file} contains fewer than 32 characters; restore it from a backup, or delete it so that the service generates a new one (which ends all sessions)`,
    ]);
  }
  return secret;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The path of PUBLIC_URL, without a trailing slash. Every redirect and link of the service begins with it. */
    basePath: string;
  }
}

/** `app.config`: the configuration, frozen. */
export const configPlugin = definePlugin<{ config: Config }>('platform/config', (_services, _app, { config }) => ({
  config,
  basePath: basePathOf(config.PUBLIC_URL),
}));
