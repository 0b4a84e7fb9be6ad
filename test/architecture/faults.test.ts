import { join } from 'node:path';
import t from 'tap';
import ts from 'typescript';
import { openSources } from '../helpers/code-search.js';
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
    ...{ fileExists, readFile, readDirectory, directoryExists, getDirectories, getCurrentDirectory },
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

t.setTimeout(300_000);
t.test('no fault uses a name that no longer exists: it would be detected for the wrong reason', async (t) => {
  const projects = ['tsconfig.json', 'pages/browser/tsconfig.json'].map(openProject);
  for (const { fault, edits } of mutations) {
    // Opened again for each fault, because the edits are applied to these sources.
    const sources = openSources();
    const files = new Map<string, string>();
    for (const { replace, ...code } of edits) {
      const { file, text } = sources.replace(code, replace);
      files.set(file, text);
    }
    const opened = [...files].flatMap(([file, text]) => {
      const path = join(process.cwd(), file);
      const project = projects.find((one) => one.files.has(path));
      project?.replace(path, text);
      return project ? [{ project, path }] : [];
    });
    const errors = opened
      .flatMap(({ project, path }) => project.errorsIn(path))
      .filter(
        ({ code, category }) => unresolved.has(code) || (code < 2_000 && category === ts.DiagnosticCategory.Error),
      )
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
    t.strictSame(errors, [], fault);
    for (const { project, path } of opened) project.replace(path, undefined);
  }
});
