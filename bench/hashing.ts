/** Measures how many Argon2 verifications or hashes per second this machine can do without any other work. */
import { hash, verify } from '@node-rs/argon2';
import type { Throughput } from './load.js';
import { inputOfProgram } from './processes.js';

export interface HashingInput {
  seconds: number;
  /** Number of operations at a time. */
  concurrency: number;
  work: 'verify' | 'hash';
}

const { seconds, concurrency, work } = inputOfProgram<HashingInput>();
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const password = 'the password of everybody here';
const stored = await hash(password, parameters);

let count = 0;
let end = Number.POSITIVE_INFINITY;
const lane = async () => {
  while (performance.now() < end) {
    await (work === 'verify' ? verify(stored, password) : hash(password, parameters));
    count++;
  }
};
// Warm up: the first operations use memory that has never been accessed.
for (let warming = 0; warming < 20; warming++) await verify(stored, password);
const start = performance.now();
end = start + seconds * 1000;
await Promise.all(Array.from({ length: concurrency }, lane));
const result: Throughput = { count, rate: (count / (performance.now() - start)) * 1000 };
console.log(JSON.stringify(result));
