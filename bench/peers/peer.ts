import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EmptyDatabase, memberEmail } from '../database.js';
import type { Load } from '../load.js';
import type { Server } from '../processes.js';

/** Another system that is measured in the same run. */
export interface Peer {
  /** Its name and version. */
  name: string;
  /** The folder of its packages in `bench/peers`. */
  packages: string;
  /** Starts it on an empty database, adds the users, and logs in as many of them as there are callers. */
  start(where: { folder: string; database: EmptyDatabase; users: number; callers: number }): Promise<RunningPeer>;
}

export interface RunningPeer extends Pick<Server, 'pid' | 'url' | 'stop'> {
  /** Its requests for what the service is asked for. There may be none for some of them. */
  requests: Partial<Record<ComparedRequest, PeerRequest>>;
}

/** The requests of the service to which those of its peers correspond. */
export const comparedRequests = ['GET /users/me', 'GET /users?limit=100'] as const;
export type ComparedRequest = (typeof comparedRequests)[number];

export interface PeerRequest {
  path: string;
  /** @returns the credentials of the next caller */
  next: Load['next'];
  /** The target: how many times the processor time of the service it needs. */
  target: number;
}

/**
 * Installs the packages of `bench/peers/<name>`, without running their install scripts. Does nothing if they are already
 * installed. @returns the folder with the packages and the other files of `bench/peers/<name>`
 * @throws if they cannot be installed, for example because there is no network
 */
export function installPackages(name: string): string {
  const [source, folder] = [join('bench/peers', name), join('.tmp/peers', name)];
  const manifest = join(source, 'package.json');
  /** The manifest of the last complete installation. */
  const installed = join(folder, 'node_modules/.installed.json');
  const isInstalled = existsSync(installed) && readFileSync(installed).equals(readFileSync(manifest));
  cpSync(source, folder, { recursive: true });
  if (!isInstalled) {
    console.log(`Installing ${name} into ${folder}, which can take two minutes …`);
    const options = ['--ignore-scripts', '--legacy-peer-deps', '--no-package-lock', '--no-audit', '--no-fund'];
    execFileSync('npm', ['install', '--loglevel=error', ...options], { cwd: folder, stdio: 'inherit' });
    copyFileSync(manifest, installed);
  }
  return folder;
}

/** Sends a JSON request that has to succeed, as a page of the same origin would. */
export async function post(url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json', origin: new URL(url).origin };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`POST ${url}: ${response.status} ${await response.text()}`);
  return response;
}

/** Logs in the first members with this function. @returns a function that returns their credentials in rotation */
export async function logInMembers(count: number, logIn: (email: string) => Promise<string>): Promise<() => string> {
  return rotate(await Promise.all(Array.from({ length: count }, (_, number) => logIn(memberEmail(number)))));
}

/** @returns a function that returns these values in rotation */
export function rotate<Value>(values: readonly Value[]): () => Value {
  let next = 0;
  return () => values[next++ % values.length] as Value;
}
