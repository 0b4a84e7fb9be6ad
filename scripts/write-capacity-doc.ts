// Writes the tables of docs/capacity.md from bench/results/capacity.json: `npm run docs`.
import { existsSync } from 'node:fs';
import { resultsFile, writeCapacityDoc } from '../bench/capacity-doc.js';

// Skipped if there are no results on this machine.
if (existsSync(resultsFile)) writeCapacityDoc();
