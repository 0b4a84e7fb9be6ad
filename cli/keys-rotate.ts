// Creates a successor of each signing key: `npm run keys:rotate [-- --after=<duration>]`. `--revoke` deletes all current keys instead,
// which invalidates everything they have signed. See docs/access-tokens.md.
import { parseArgs } from 'node:util';
import ms, { type StringValue } from 'ms';
import { loadConfig } from '../plugins/platform/config.js';
import { leadTime } from '../plugins/tokens/signing-keys/rotation.js';
import type { SigningKeys } from '../plugins/tokens/signing-keys/service.js';
import { keySetMaxAge } from '../schemas/jwks.js';
import { CommandError, explainFailure, withServices } from './command.js';

try {
  process.stdout.write(`${await run(readOptions())}\n`);
} catch (error) {
  process.stderr.write(`No keys were changed. ${explainFailure(error)}\n`);
  process.exit(1);
}

async function run({ lead, isRevocation }: { lead: number; isRevocation: boolean }): Promise<string> {
  const config = loadConfig();
  return withServices(config, async ({ signingKeys }) => {
    if (isRevocation) return describeRevocation(await signingKeys.revoke());
    const rotated = await signingKeys.rotate(lead);
    if (rotated.length === 0) {
      throw new CommandError(
        'ACCESS_TOKEN_ALGORITHM is HS256: access tokens are signed with a key derived from SECRET. To change it, see "Changing the secret" in docs/operations.md.',
      );
    }
    return describeRotation(rotated, lead);
  });
}

function describeRotation(rotated: Awaited<ReturnType<SigningKeys['rotate']>>, lead: number): string {
  const made = rotated.filter(({ isAlreadyScheduled }) => !isAlreadyScheduled);
  const lines = rotated.map(({ kid, algorithm, signsFrom, isAlreadyScheduled }) =>
    isAlreadyScheduled
      ? `A rotation is already in progress: ${kid} (${algorithm}) signs from ${signsFrom.toISOString()}.`
      : `The new key is ${kid} (${algorithm}). It is now in the key set, and will start signing tokens at ${signsFrom.toISOString()}.`,
  );
  if (made.length === 0) return [...lines, 'Nothing was changed.'].join('\n');
  const isShort = lead < keySetMaxAge * 1_000;
  return [
    ...lines,
    made.length === 1
      ? 'The current key signs until then. It stays in the set for as long as clients can present tokens that it has signed.'
      : 'The current keys sign until then. They stay in the set for as long as clients can present tokens that they have signed.',
    ...(isShort
      ? ['Other services can cache the key set for longer than that, and then reject tokens that a new key has signed.']
      : []),
  ].join('\n');
}

function describeRevocation({ removed, made }: Awaited<ReturnType<SigningKeys['revoke']>>): string {
  const gone = removed.length === 1 ? '1 key was removed' : `${removed.length} keys were removed`;
  return [
    `${gone}. Within five seconds, no instance accepts tokens that were signed with a removed key.`,
    ...made.map(({ kid, algorithm }) => `The new key is ${kid} (${algorithm}). It signs tokens from now on.`),
  ].join('\n');
}

function readOptions(): { lead: number; isRevocation: boolean } {
  const { values } = parseArgs({ options: { after: { type: 'string' }, revoke: { type: 'boolean', default: false } } });
  const { after, revoke: isRevocation } = values;
  if (after !== undefined && isRevocation)
    throw new CommandError('--revoke takes effect immediately and cannot be combined with --after.');
  if (after !== undefined && !/^\d{1,5}[smhd]$/.test(after)) {
    throw new CommandError('--after must be a duration such as 90s, 30m, 2h or 1d.');
  }
  return { lead: after === undefined ? leadTime : ms(after as StringValue), isRevocation };
}
