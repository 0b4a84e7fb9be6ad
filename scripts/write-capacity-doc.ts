// Writes the tables of docs/capacity.md from bench/results/capacity.json: `npm run docs`.
import { existsSync } from 'node:fs';
import { resultsFile, writeCapacityDoc } from '../bench/capacity-doc.js';

// Until it has been measured on some machine, there is nothing to write.
if (existsSync(resultsFile)) writeCapacityDoc();
