import { createDatabase, type FilledDatabase, runStatements } from '../database.js';
import { load, only } from '../load.js';
import { medianTime, type ProcessorTime, withProcessorTime } from '../processor-time.js';
import { startSetting } from '../setting.js';
import { median, type Spread, spread } from '../statistics.js';
import { betterAuth } from './better-auth.js';
import { directus } from './directus.js';
import {
  type ComparedRequest,
  comparedRequests,
  installPackages,
  type Peer,
  type PeerRequest,
  type RunningPeer,
  rotate,
} from './peer.js';

/** A request that is measured alternately on the service and its peers. */
export interface Comparison {
  name: ComparedRequest;
  service: MeasuredSide;
  peers: (MeasuredSide & {
    name: string;
    path: string;
    /** Its processor time, PostgreSQL included, in multiples of that of the service in the same round. */
    ratio: Spread;
    target: number;
  })[];
}

/** Medians of the rounds. */
interface MeasuredSide {
  /** Requests per second. */
  rate: number;
  processor: ProcessorTime;
}

/** What is needed to measure a side of the comparison. */
interface Side extends Pick<PeerRequest, 'path' | 'next'> {
  server: Pick<RunningPeer, 'url' | 'pid'>;
  database: Parameters<typeof withProcessorTime>[1];
}

const connections = 20;
/** The number of users whose tokens are used. */
const callers = 100;
/** Before the first round: code is slow until it has run often enough. */
const warmUpSeconds = 5;

/** As in Directus, the policy of the members lets them read all fields of users. */
const grantReading = `insert into permissions (policy, collection, action, fields)
  select id, 'users', 'read', '["*"]' from policies where name = 'Members'`;

/**
 * Compares the service with the peers that can be installed, each on its own database with as many users. Extends the rights of
 * the members in the service's database.
 */
export async function comparePeers(
  filled: FilledDatabase,
  options: { rounds: number; seconds: number },
): Promise<Comparison[]> {
  await runStatements(filled.place, [grantReading]);
  const setting = await startSetting(filled);
  const started: StartedPeer[] = [];
  try {
    for (const peer of [directus, betterAuth]) {
      const folder = install(peer);
      if (folder) started.push(await startPeer(peer, folder, filled.users));
    }
    const nextToken = rotate(setting.tokens.members.slice(0, callers));
    const next = () => ({ token: nextToken() });
    const comparisons: Comparison[] = [];
    for (const name of comparedRequests) {
      const service = { path: name.slice('GET '.length), next, server: setting.service, database: filled };
      const peers = started.flatMap(({ requests: { [name]: request }, ...peer }) =>
        request ? [{ ...peer, ...request }] : [],
      );
      if (peers.length > 0) comparisons.push(await compare(name, service, peers, options));
    }
    return comparisons;
  } finally {
    await setting.stop();
    for (const { stop } of started) await stop();
  }
}

/** @returns the folder of the peer, or nothing if it cannot be installed */
function install({ name, packages }: Peer): string | undefined {
  try {
    return installPackages(packages);
  } catch (error) {
    console.log(`The benchmark continues without ${name}, which could not be installed: ${error}`);
    return undefined;
  }
}

interface StartedPeer extends Pick<Side, 'server' | 'database'>, Pick<RunningPeer, 'requests'> {
  name: string;
  /** Stops the peer and drops its database. */
  stop(): Promise<void>;
}

async function startPeer({ name, start }: Peer, folder: string, users: number): Promise<StartedPeer> {
  console.log(`Starting ${name} with ${users} users …`);
  const database = await createDatabase();
  try {
    const { requests, stop, ...server } = await start({ folder, database, users, callers });
    await database.writeOut();
    return {
      name,
      server,
      database,
      requests,
      stop: async () => {
        await stop();
        await database.drop();
      },
    };
  } catch (error) {
    await database.drop();
    throw error;
  }
}

/** Measures all sides in turn, in the opposite order every other round, so that changes on the machine affect all of them. */
async function compare(
  name: ComparedRequest,
  service: Side,
  peers: readonly (Side & Pick<PeerRequest, 'target'> & { name: string })[],
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Comparison> {
  const sides = [service, ...peers];
  for (const side of sides) await measure(side, warmUpSeconds);
  const results = new Map(sides.map((side) => [side, [] as MeasuredSide[]]));
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      results.get(side)?.push(await measure(side, seconds));
    }
  }
  const roundsOf = (side: Side) => results.get(side) ?? [];
  const mediansOf = (side: Side): MeasuredSide => ({
    rate: median(roundsOf(side).map(({ rate }) => rate)),
    processor: medianTime(roundsOf(side).map(({ processor }) => processor)),
  });
  const totals = (side: Side) => roundsOf(side).map(({ processor }) => processor.server + processor.database);
  const ofService = totals(service);
  const comparison: Comparison = {
    name,
    service: mediansOf(service),
    peers: peers.map((peer) => ({
      name: peer.name,
      path: peer.path,
      ...mediansOf(peer),
      ratio: spread(totals(peer).map((total, round) => total / (ofService[round] ?? Number.NaN))),
      target: peer.target,
    })),
  };
  for (const { name: peer, ratio, target } of comparison.peers) {
    console.log(`${name}: ${peer} needs ${ratio.median.toFixed(1)} × the processor time (target: ${target} ×)`);
  }
  return comparison;
}

async function measure({ path, next, server, database }: Side, seconds: number): Promise<MeasuredSide> {
  const { rate, processor } = await withProcessorTime(server, database, async () =>
    only(await load({ url: server.url, path, connections, seconds, next }), '200'),
  );
  return { rate, processor };
}
