import { existsSync, writeFileSync } from 'node:fs';
import {
  conformanceFile,
  conformanceTable,
  declaredOutcomes,
  outcomesFolder,
  readDocument,
  seenOutcomes,
} from './conformance.js';

const suite = 'embedded';
if (!existsSync(outcomesFolder(suite))) {
  console.error('The results of a test run are missing: run npm run test:all first.');
  process.exit(1);
}
const declared = declaredOutcomes(readDocument());
const seen = seenOutcomes(suite);
writeFileSync(conformanceFile, conformanceTable(declared, seen));
const missing = declared.filter((outcome) => !seen.has(outcome));
console.log(`${conformanceFile}: ${declared.length - missing.length} of ${declared.length} outcomes are proved.`);
for (const outcome of missing) console.log(`not proved: ${outcome}`);
process.exit(missing.length > 0 ? 1 : 0);
