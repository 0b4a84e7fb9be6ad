// @suite embedded-only: hardly depends on the engine

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { parse } from 'yaml';
import { breakingChanges, type Released } from '../helpers/openapi/breaking-changes.js';
import { committedDocument } from '../helpers/openapi/document.js';

const folder = 'docs/releases';
const current = committedDocument() as unknown as Released;

/** A number that is greater for a later version. */
const rank = (name: string) => (name.match(/\d+/g) ?? []).reduce((sum, part) => sum * 1000 + Number(part), 0);

t.test('every change that breaks clients of the last release is announced', async (t) => {
  const releases = existsSync(folder) ? readdirSync(folder).sort((a, b) => rank(a) - rank(b)) : [];
  const last = releases.at(-1);
  if (last === undefined) return t.pass('nothing has been released yet');
  const [, unreleased = ''] = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m);
  const [, announced = ''] = unreleased.split(/^### Breaking$/m);
  for (const { name, what } of breakingChanges(parse(readFileSync(`${folder}/${last}`, 'utf8')), current)) {
    t.ok(new RegExp(`\\b${name}\\b`).test(announced), `${name} ${what}: announce it in CHANGELOG.md`);
  }
});

t.test('breaking changes are detected, and compatible ones are not reported', async (t) => {
  const changes = (change: (document: Released) => void) => {
    const changed = structuredClone(current);
    change(changed);
    return breakingChanges(current, changed);
  };
  const schema = (document: Released, name: string) => document.components.schemas[name] ?? {};
  const operation = (document: Released, method: string, path: string) => {
    const found = document.paths[path]?.[method];
    if (!found) throw new Error(`There is no ${method} ${path}.`);
    return found;
  };
  t.strictSame(breakingChanges(current, current), []);

  const breaking: Record<string, [name: string, change: (document: Released) => void]> = {
    'an operation that was removed': ['login', (document) => delete document.paths['/auth/login']],
    'a success response that was removed': [
      'updateUser',
      (document) => delete operation(document, 'patch', '/users/{id}').responses['204'],
    ],
    'a schema that was removed': ['Meta', (document) => delete document.components.schemas.Meta],
    'a response field that was removed': ['User', (document) => delete schema(document, 'User').properties?.email],
    'a response field that is now optional': [
      'JsonModeTokens',
      (document) => {
        schema(document, 'JsonModeTokens').required = [];
      },
    ],
    'a request field that is now required': [
      'LoginBody',
      (document) => schema(document, 'LoginBody').required?.push('otp'),
    ],
    'a value that is no longer accepted': [
      'LoginBody',
      (document) => schema(document, 'LoginBody').properties?.mode?.enum?.pop(),
    ],
    'a type that is no longer accepted': [
      'LoginBody',
      (document) => {
        const { otp } = schema(document, 'LoginBody').properties ?? {};
        if (otp) otp.type = 'integer';
      },
    ],
    'a parameter that is now required': [
      'listMails',
      (document) => {
        for (const parameter of operation(document, 'get', '/mails').parameters ?? []) parameter.required = true;
      },
    ],
  };
  for (const [what, [name, change]] of Object.entries(breaking)) {
    t.ok(
      changes(change).some((found) => found.name === name),
      what,
    );
  }

  const harmless: Record<string, (document: Released) => void> = {
    'an added field in a response': (document) =>
      Object.assign(schema(document, 'User').properties ?? {}, { more: {} }),
    'an added field in a request': (document) =>
      Object.assign(schema(document, 'LoginBody').properties ?? {}, { more: {} }),
    'an added operation': (document) => {
      document.paths['/more'] = { get: { operationId: 'more', responses: {} } };
    },
    'an added accepted value': (document) => schema(document, 'LoginBody').properties?.mode?.enum?.push('more'),
  };
  for (const [what, change] of Object.entries(harmless)) t.strictSame(changes(change), [], what);
});
