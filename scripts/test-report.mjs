/**
 * Lists the failures in a TAP report: failed assertions, and tests that failed without one.
 * @param report the text of the report, in which the processes of `scripts/test-worker.mjs` are the outermost tests; or, if it is
 *   direct, the report of one such process
 * @returns for each failure, its title preceded by the names of its file and tests, its location, and what tap says about it
 */
export function failuresIn(report, { isDirect }) {
  const lines = report.split('\n');
  const outermost = isDirect ? 0 : 1;
  const failures = [];
  /** The tests that are open, and how many failures there were when each began. */
  const open = [];
  const failedTests = new Set();
  let firstOfFile = 0;
  for (const [index, line] of lines.entries()) {
    const [, indent, kind, text, time] =
      line.match(/^( *)(# Subtest:|not ok \d+ -|ok \d+ -) (.*?)( # time=\S+?)?(?: \{)?$/) ?? [];
    if (kind === undefined) continue;
    const depth = indent.length / 4;
    if (kind === '# Subtest:') {
      open.length = depth;
      open[depth] = { name: text, failures: failures.length };
      continue;
    }
    const [, ending] = text.match(/^(.*)\.(?:test|browser)\.js ends cleanly$/) ?? [];
    if (kind.startsWith('not') && !/ # (?:TODO|SKIP)\b/i.test(line)) {
      const tests = open.slice(outermost, depth).map(({ name }) => name);
      const path = [...tests, text].join(' › ');
      const begun = open[depth]?.name === text ? open[depth].failures : failures.length;
      // A test fails because of the assertions in it, and is reported again if it fails after its end.
      const isKnown = time !== undefined && (failures.length > begun || failedTests.has(path));
      if (time !== undefined) failedTests.add(path);
      if (!isKnown) failures.push({ path, isProcess: depth < outermost, ...detailsAt(lines, index + 1, indent) });
    }
    if (time !== undefined) open.length = depth;
    if (ending === undefined) continue;
    for (const failure of failures.slice(firstOfFile)) failure.path = `${ending} › ${failure.path}`;
    firstOfFile = failures.length;
  }
  return failures;
}

/** What tap says about a failure: the location in the sources, and the difference, stack, and source. */
function detailsAt(lines, start, indent) {
  if (lines[start] !== `${indent}  ---`) return { location: undefined, details: [] };
  const end = lines.indexOf(`${indent}  ...`, start);
  const block = lines.slice(start + 1, end).map((line) => line.slice(indent.length + 2));
  const fieldOf = (key) => block.find((line) => line.trim().startsWith(`${key}: `))?.replace(/^\s*\w+: /, '');
  const [file, line, column] = ['fileName', 'lineNumber', 'columnNumber'].map(fieldOf);
  let key = '';
  const details = block.filter((text) => {
    key = text.match(/^(\w+):/)?.[1] ?? key;
    return key !== 'at';
  });
  return { location: file && `${file}:${line}:${column}`, details };
}
