import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type Locale, loadLocales } from '../../plugins/locales.js';
import { createMailTemplates, type MailInput } from '../../plugins/mail/templates.js';

const locales = loadLocales();
const kinds = ['invite', 'registration', 'reset'] as const;
const url = 'https://app.example.com/?a=1&token=x.y-z_0';
const day = 86_400_000;

const input = (language: Locale, more: Partial<MailInput> = {}): MailInput => ({
  language,
  project: { name: 'Acme', color: null, logo: null },
  variables: { url, email: 'ada@example.com', first_name: 'Ada', last_name: null },
  validFor: 7 * day,
  ...more,
});
const english = locales.pick('en-US');
const templates = createMailTemplates({ locales });

function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-templates-'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

t.test('every mail in every language', async (t) => {
  await templates.check();
  t.strictSame(locales.all.map(({ tag }) => tag).sort(), ['de-DE', 'en-US', 'es-ES', 'fr-FR', 'zh-CN']);
  const subjects = new Set<string>();
  for (const language of locales.all) {
    for (const kind of kinds) {
      const mail = await templates.render(kind, input(language));
      t.match(mail.subject, 'Acme');
      subjects.add(mail.subject);
      t.match(mail.html, `<html lang="${language.tag}">`);
      t.match(mail.html, url.replaceAll('&', '&amp;'));
      t.match(mail.text, url);
      for (const part of [mail.html, mail.text]) {
        t.match(part, 'ada@example.com');
        t.match(part, 'Ada');
        t.notMatch(part, /\{\{|\{%|undefined|null|NaN|\[object/);
      }
    }
  }
  t.equal(subjects.size, 15);
});

t.test('all languages have the same texts, with the same places to fill in', async (t) => {
  const shape = ({ mail }: Locale) =>
    Object.fromEntries(
      Object.entries(mail).flatMap(([group, texts]) =>
        Object.entries(texts).map(([key, text]) => [`${group}.${key}`, (text.match(/\{\{.*?\}\}/g) ?? []).sort()]),
      ),
    );
  for (const language of locales.all) t.strictSame(shape(language), shape(english), language.tag);
});

t.test('the language is the recipient’s, then the project’s, then English', async (t) => {
  const picked = (...wanted: (string | null)[]) => locales.pick(...wanted).tag;
  t.equal(picked('de-DE'), 'de-DE');
  t.equal(picked('de'), 'de-DE');
  t.equal(picked('de-AT'), 'de-DE');
  t.equal(picked('DE_ch'), 'de-DE');
  t.equal(picked(null, 'fr-FR'), 'fr-FR');
  t.equal(picked('xx', 'fr'), 'fr-FR');
  t.equal(picked('../../package', '__proto__', null), 'en-US');
});

t.test('what comes from outside is text, never markup', async (t) => {
  const evil = '<img src=x onerror=alert(1)>"\'&';
  const mail = await templates.render(
    'registration',
    input(english, {
      project: { name: evil, color: '#fff;background:url(x)', logo: 'javascript:alert(1)' },
      variables: { url: `https://a.example/?${'"'}<b>&token=1`, email: `"${evil}"@example.com`, first_name: evil },
    }),
  );
  t.notMatch(mail.html, /<img|<b>|javascript:|url\(x\)/);
  t.match(mail.html, '&lt;img src=x onerror=alert(1)&gt;');
  t.match(mail.text, evil, 'and stands in the text as it is');
});

t.test('a subject is one line', async (t) => {
  const name = 'Acme\r\nBcc: everybody@example.com\n\u2028x';
  const { subject } = await templates.render('reset', input(english, { project: { name, color: null, logo: null } }));
  t.equal(subject, 'Reset your password for Acme Bcc: everybody@example.com x');
});

t.test('nobody is greeted with a link', async (t) => {
  for (const first of ['visit evil.example', 'https://evil.example', 'me@evil', 'evil/path']) {
    const { text } = await templates.render(
      'registration',
      input(english, { variables: { url, email: 'a@b.co', first_name: first } }),
    );
    t.match(text, 'Hello,\n');
    t.notMatch(text, first);
  }
  const { text } = await templates.render(
    'invite',
    input(english, { variables: { url, email: 'a@b.co', first_name: 'Dr. Ada' } }),
  );
  t.match(text, 'Hello Dr. Ada,');
});

t.test('how long the link can be used', async (t) => {
  const says = async (tag: string, validFor: number) =>
    (await templates.render('reset', input(locales.pick(tag), { validFor }))).text;
  t.match(await says('en-US', 7 * day), '7 days');
  t.match(await says('en-US', day), '24 hours');
  t.match(await says('en-US', 3_600_000), '1 hour.');
  t.match(await says('en-US', 90 * 60_000), '90 minutes');
  t.match(await says('de-DE', 2 * day), '2 Tage');
  t.match(await says('fr-FR', 2 * day), /2\sjours/);
  t.match(await says('zh-CN', 2 * day), '2天');
});

t.test('the look of the project', async (t) => {
  const html = async (color: string | null, logo: string | null = null) =>
    (await templates.render('invite', input(english, { project: { name: 'Acme', color, logo } }))).html;
  t.match(await html('#0A0'), 'bgcolor="#00aa00"');
  t.match(await html('#ffffff'), 'color:#000000;text-decoration', 'dark text on a light button');
  t.match(await html('#000080'), 'color:#ffffff;text-decoration');
  for (const color of [null, '', 'red', '#12', '#1234567'])
    t.match(await html(color), 'bgcolor="#2b5fd9"', String(color));
  t.match(await html(null, 'https://a.example/logo.png'), '<img src="https://a.example/logo.png" alt="Acme"');
  for (const logo of ['data:image/png;base64,x', 'file:///etc/passwd', 'logo.png'])
    t.notMatch(await html(null, logo), '<img', logo);
});

t.test('own templates go before the built-in ones, one by one', async (t) => {
  const folder = folderWith({
    'invite.html.liquid': '<p>{{ project.name }}: <a href="{{ url }}">{{ first_name }}</a> {{ texts.action }}</p>',
    'invite.de-DE.text.liquid': 'Nur auf Deutsch: {{ url }}',
  });
  const own = createMailTemplates({ locales, folder });
  await own.check();
  const mail = await own.render('invite', input(english));
  t.equal(mail.html, `<p>Acme: <a href="${url.replace('&', '&amp;')}">Ada</a> Accept the invitation</p>`);
  t.match(mail.text, 'Hello Ada,', 'the text is the built-in one');
  t.equal((await own.render('invite', input(locales.pick('de')))).text, `Nur auf Deutsch: ${url}`);
  t.match((await own.render('reset', input(english))).html, '<!doctype html>');

  const all = createMailTemplates({
    locales,
    folder: folderWith({ 'message.html.liquid': '<p>{{ texts.title }}</p>' }),
  });
  t.equal((await all.render('reset', input(english))).html, '<p>Choose a new password</p>');
});

t.test('a faulty template of one’s own is found at start, with its name', async (t) => {
  const faults: Record<string, string> = {
    'a tag that is not closed': '{% if url %}',
    'a variable that there is not': '{{ links }}',
    'a filter that there is not': '{{ url | shout }}',
    'a file outside': "{% include '../../../../../../etc/passwd' %}",
    'an absolute file': "{% render '/etc/passwd' %}",
    'a loop without end': '{% for i in (1..100000000) %}x{% endfor %}',
    'a property of the language': '{{ project.constructor.name }}',
  };
  for (const [what, content] of Object.entries(faults)) {
    const own = createMailTemplates({ locales, folder: folderWith({ 'reset.html.liquid': content }) });
    await t.rejects(own.check(), /the template of the mail "reset" is faulty/, what);
  }
  t.throws(() => createMailTemplates({ locales, folder: '/no/such/folder' }), /EMAIL_TEMPLATES_PATH/);
});
