// @suite embedded-only: reads the sources
// @suite not-everyday: checks the types of the project for every fault

import { join } from 'node:path';
import t from 'tap';
import ts from 'typescript';
import { openSources } from '../helpers/project/code-search.js';
import { mutations } from '../mutations/index.js';

/** A name or a module that does not exist. Other type errors are no obstacle: the build ignores types. */
const unresolved = new Set([2304, 2305, 2307, 2552, 2724]);

/** A project whose files can be replaced in memory. */
function openProject(config: string) {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => {} };
  const { fileNames, options } = ts.getParsedCommandLineOfConfigFile(config, {}, host) as ts.ParsedCommandLine;
  const replaced = new Map<string, string>();
  const versions = new Map<string, number>();
  const { fileExists, readFile, readDirectory, directoryExists, getDirectories, getCurrentDirectory } = ts.sys;
  const service = ts.createLanguageService({
    fileExists,
    readFile,
    readDirectory,
    directoryExists,
    getDirectories,
    getCurrentDirectory,
    getCompilationSettings: () => options,
    getScriptFileNames: () => fileNames,
    getScriptVersion: (file) => String(versions.get(file) ?? 0),
    getScriptSnapshot: (file) => {
      const text = replaced.get(file) ?? ts.sys.readFile(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getDefaultLibFileName: ts.getDefaultLibFilePath,
  });
  return {
    files: new Set(fileNames),
    /** @param text undefined restores the file */
    replace: (file: string, text: string | undefined) => {
      if (text === undefined) replaced.delete(file);
      else replaced.set(file, text);
      versions.set(file, (versions.get(file) ?? 0) + 1);
    },
    errorsIn: (file: string) => [...service.getSyntacticDiagnostics(file), ...service.getSemanticDiagnostics(file)],
  };
}

type Edited = { fault: string; texts: ReadonlyMap<string, string> };

/** Groups of faults that edit different files. A group is checked in one pass, because each pass begins with all types of the project. */
function grouped(faults: readonly Edited[]): Edited[][] {
  const groups: { files: Set<string>; members: Edited[] }[] = [];
  for (const fault of faults) {
    const files = [...fault.texts.keys()];
    const group = groups.find((one) => !files.some((file) => one.files.has(file)));
    if (!group) {
      groups.push({ files: new Set(files), members: [fault] });
      continue;
    }
    group.members.push(fault);
    for (const file of files) group.files.add(file);
  }
  return groups.map(({ members }) => members);
}

t.setTimeout(300_000);
t.test('no fault uses a name that no longer exists: it would be detected for the wrong reason', async (t) => {
  const projects = ['tsconfig.json', 'pages/tsconfig.json'].map(openProject);
  const sources = openSources();
  const faults = mutations.map(({ fault, edits }): Edited => {
    sources.restore();
    const texts = new Map<string, string>();
    for (const { replace, ...code } of edits) {
      const { file, text } = sources.replace(code, replace);
      texts.set(join(process.cwd(), file), text);
    }
    return { fault, texts };
  });
  const projectOf = (file: string) => projects.find(({ files }) => files.has(file));
  const errorsOf = (members: readonly Edited[]): string[][] => {
    const files = members.flatMap(({ texts }) => [...texts]);
    for (const [file, text] of files) projectOf(file)?.replace(file, text);
    const found = members.map(({ texts }) =>
      [...texts.keys()]
        .flatMap((file) => projectOf(file)?.errorsIn(file) ?? [])
        .filter(
          ({ code, category }) => unresolved.has(code) || (code < 2_000 && category === ts.DiagnosticCategory.Error),
        )
        .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' ')),
    );
    for (const [file] of files) projectOf(file)?.replace(file, undefined);
    return found;
  };
  for (const group of grouped(faults)) {
    const found = errorsOf(group);
    for (const [index, member] of group.entries()) {
      // Another fault of the group may have caused the error.
      const errors = found[index]?.length === 0 ? [] : errorsOf([member])[0];
      t.strictSame(errors, [], member.fault);
    }
  }
});
