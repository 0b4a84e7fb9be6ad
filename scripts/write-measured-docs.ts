// Writes the tables of docs/capacity.md, docs/comparison.md, and README.md from bench/results: `npm run docs`.
import { existsSync } from 'node:fs';
import { resultsFile as capacityFile, writeCapacityDoc } from '../bench/capacity-doc.js';
import { resultsFile as comparisonFile, writeComparison } from '../bench/comparison-doc.js';

// Skipped if there are no results on this machine.
if (existsSync(capacityFile)) writeCapacityDoc();
if (existsSync(comparisonFile)) writeComparison();
