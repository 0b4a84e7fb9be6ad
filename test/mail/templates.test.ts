// @suite embedded-only: hardly depends on the engine
// @suite not-everyday: renders every email in every language

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type MailKind, type Notice, securityChanges } from '../../plugins/mail/jobs.js';
import { mailKinds } from '../../plugins/mail/template-files.js';
import { createMailTemplates } from '../../plugins/mail/templates.js';
import { type MailInput, variablesOf } from '../../plugins/mail/variables.js';
import { ConfigError } from '../../plugins/platform/config.js';
import { type Locale, type Locales, loadLocales } from '../../plugins/platform/locales.js';

const locales = loadLocales();
const english = locales.pick('en-US');
const templates = createMailTemplates({ locales });
const url = 'https://accounts.example.com/account/reset-password?from=mail&token=abc.def.ghi';
const day = 86_400_000;

interface Changes {
  language?: Locale;
  project?: Partial<MailInput['project']>;
  variables?: Partial<MailInput['recipient'] & Pick<MailInput, 'url'>>;
  validFor?: number;
  notice?: Partial<Notice>;
}

/** The input for an email of any kind. */
function input({ language = english, project, variables, validFor = 7 * day, notice }: Changes = {}): MailInput {
  const { url: link = url, ...recipient } = variables ?? {};
  return {
    language,
    project: { name: 'Northwind', color: null, logo: null, ...project },
    recipient: { email: 'ada@example.com', first_name: null, last_name: null, ...recipient },
    url: link,
    isOwnPage: true,
    passwordUrl: 'https://accounts.example.com/account/forgot-password',
    validFor,
    notice: {
      changes: ['password_changed'],
      at: '2026-01-31T09:26:53.000Z',
      isOwn: true,
      device: 'Firefox, Linux',
      provider: null,
      ...notice,
    },
  };
}

const code = '492039';

/** The input for an email of this kind: some contain a code, and one has no link. */
function inputOf(kind: MailKind, changes: Changes = {}): MailInput {
  const given = input(changes);
  if (kind === 'email_login') return { ...given, code };
  return kind === 'email_code' ? { ...given, code, url: null } : given;
}

/** The available languages, and one more. */
function withLanguage(extra: Locale): Locales {
  return { all: [...locales.all, extra], pick: locales.pick };
}

async function faultsOf(folder: string | undefined, available = locales): Promise<readonly string[]> {
  try {
    await createMailTemplates({ locales: available, folder }).check();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}

t.test('every email in every language contains all required information', async (t) => {
  await templates.check();
  for (const language of locales.all) {
    for (const kind of mailKinds) {
      for (const first_name of ['Ada', null, '']) {
        const mail = await templates.render(kind, inputOf(kind, { language, variables: { first_name } }));
        const what = `${kind} in ${language.tag}, ${first_name ? 'with' : 'without'} a name`;
        const escapedUrl = url.replace('&', '&amp;');
        t.equal(mail.language, language.tag, what);
        t.match(mail.html, new RegExp(`^<!doctype html>\\n<html lang="${language.tag}" dir="ltr">`), what);
        const hasLink = kind !== 'email_code';
        const links = mail.html.split(`href="${escapedUrl}"`).length - 1;
        t.equal(links, hasLink ? 2 : 0, `${what}: the button and the link below it`);
        t.equal(mail.html.includes(`>${escapedUrl}</a>`), hasLink, `${what}: the link to copy`);
        t.equal(mail.text.split('\n').includes(url), hasLink, `${what}: the link on its own line`);
        const hasCode = kind === 'email_login' || kind === 'email_code';
        t.equal(mail.html.includes(`>${code}</p>`), hasCode, `${what}: the code`);
        t.equal(mail.text.split('\n').includes(code), hasCode, `${what}: the code on its own line`);
        for (const part of [mail.subject, mail.html, mail.text]) {
          t.ok(part.includes('Northwind'), what);
          t.notMatch(part, /\{\{|\{%|\}\}|%\}|undefined|null|\[object/, what);
          t.notMatch(part, / ,| {2}(?=\S)\S+,$/m, `${what}: no gap for a name`);
        }
        for (const part of [mail.html, mail.text]) {
          t.equal(part.includes('Ada'), first_name === 'Ada', what);
          // The links of these emails are not secret, and never expire.
          const isLasting = kind === 'notice' || kind === 'account_exists';
          if (!isLasting) t.match(part, /7\s?(days|Tage|jours|días|天)/, what);
          t.ok(part.includes('ada@example.com'), `${what}: why the recipient gets this email`);
        }
        t.notMatch(mail.text, /<|&amp;|\n{3}/, what);
      }
    }
  }
});

t.test('each kind of email in each language has its own text', async (t) => {
  const subjects = new Set<string>();
  const bodies = new Set<string>();
  for (const language of locales.all) {
    for (const kind of mailKinds) {
      const { subject, text } = await templates.render(kind, inputOf(kind, { language }));
      subjects.add(subject);
      bodies.add(text);
    }
  }
  t.equal(subjects.size, locales.all.length * mailKinds.length);
  t.equal(bodies.size, locales.all.length * mailKinds.length);
});

t.test('all languages have the same texts with the same placeholders', async (t) => {
  const placeholders = (text: string) => [...new Set(text.match(/\{\{.*?\}\}|\{%.*?%\}/g))].sort();
  const shape = ({ mail }: Locale) =>
    Object.fromEntries(
      Object.entries(mail).map(([section, texts]) => [
        section,
        Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, placeholders(text)])),
      ]),
    );
  const sections = ['common', ...mailKinds, ...securityChanges, 'several_changes', 'notice_items'];
  t.strictSame(Object.keys(english.mail).sort(), sections.sort());
  for (const language of locales.all) t.strictSame(shape(language), shape(english), language.tag);
});

t.test('a notice says what changed, when, with which device or by whom, and what to do', async (t) => {
  const subjects = new Set<string>();
  for (const language of locales.all) {
    for (const change of securityChanges) {
      const notice = { changes: [change] as Notice['changes'], provider: 'GitHub' };
      const own = await templates.render('notice', input({ language, notice }));
      const foreign = await templates.render(
        'notice',
        input({ language, variables: { url: null }, notice: { ...notice, isOwn: false, device: null } }),
      );
      const what = `${change} in ${language.tag}`;
      subjects.add(own.subject);
      const { title, intro } = language.mail[change] as { title: string; intro: string };
      for (const part of [own.html, own.text]) {
        t.ok(part.includes(intro.split('{{')[0] ?? ''), what);
        t.match(part, /09:26.UTC|UTC.09:26/, `${what}: when`);
        t.ok(part.includes('Firefox, Linux'), `${what}: with which device`);
        t.equal(part.includes('GitHub'), change === 'provider_linked' || change === 'provider_unlinked', what);
      }
      t.ok(own.html.includes(`>${title}</h1>`), what);
      t.equal(foreign.subject, own.subject, what);
      for (const part of [foreign.html, foreign.text]) {
        t.notMatch(part, /Firefox|https?:(?!\/\/www\.w3)/, `${what}: neither device nor link`);
        t.notMatch(part, /\{\{|\{%|undefined|null/, what);
        t.ok(part.includes(language.mail.notice?.advice_administrator?.split('{{')[0] ?? ''), what);
        t.notOk(part.includes(language.mail.notice?.nothing_to_do ?? ''), what);
      }
      for (const { text } of [own, foreign]) t.notMatch(text, /<|&amp;|\n{3}|[^-] $/m, what);
    }
  }
  t.equal(subjects.size, locales.all.length * securityChanges.length);
});

t.test('several changes result in one email with a list', async (t) => {
  const notice = { changes: ['email_changed', 'password_changed'] as Notice['changes'] };
  const { subject, html, text } = await templates.render('notice', input({ notice }));
  t.equal(subject, 'Security changes to your Northwind account');
  t.match(
    text,
    '\n- Your email address was changed\n- Your password was changed\n\nWhen: January 31, 2026 at 09:26 UTC\n',
  );
  t.match(html, /<li>Your email address was changed<\/li>\s*<li>Your password was changed<\/li>/);
});

t.test('a device name cannot put a link or a message into a notice', async (t) => {
  for (const device of ['evil.example', 'https://evil', 'Call 0800 '.repeat(9), '']) {
    const { text, html } = await templates.render('notice', input({ notice: { device } }));
    for (const part of [text, html]) t.notMatch(part, /evil|0800|From:/, device);
  }
  const { html } = await templates.render('notice', input({ notice: { device: '<b>Lynx</b>' } }));
  t.match(html, 'Device: &lt;b&gt;Lynx&lt;/b&gt;');
});

t.test('user input is never rendered as HTML (CVE-2023-27474)', async (t) => {
  const hostile = `<img src=x onerror="alert(1)"> & 'Söhne'`;
  const escaped = '&lt;img src=x onerror=&#34;alert(1)&#34;&gt; &amp; &#39;Söhne&#39;';
  const link = `https://example.com/?a=1&b="><script>alert(2)</script>'`;
  for (const kind of mailKinds) {
    const mail = await templates.render(
      kind,
      inputOf(kind, {
        project: { name: hostile, color: 'red"><script>', logo: 'https://example.com/"><script>alert(3)</script>' },
        variables: { first_name: hostile, email: `"${hostile}"@example.com`, url: link },
      }),
    );
    t.notMatch(mail.html, /<script|<img src=x|"alert/i, kind);
    t.ok(mail.html.includes(`Hello ${escaped},`), 'the name');
    t.ok(mail.html.includes(`&#34;${escaped}&#34;@example.com`), 'the address');
    if (kind !== 'email_code') {
      t.ok(mail.text.split('\n').includes(link), 'the link as text');
      t.match(
        mail.html,
        /href="https:\/\/example\.com\/\?a=1&amp;b=&#34;&gt;&lt;script&gt;alert\(2\)&lt;\/script&gt;&#39;"/,
      );
    }
    t.ok(mail.text.includes(`Hello ${hostile},`), 'the name as text');
    t.ok(mail.text.includes(`"${hostile}"@example.com`), 'the address as text');
    t.ok(mail.subject.includes(hostile), 'the subject');
  }
  const { html } = await templates.render('reset', input({ variables: { url: 'javascript:alert("x")//<b>' } }));
  t.match(html, 'href="javascript:alert(&#34;x&#34;)//&lt;b&gt;"');
});

t.test('user input is never evaluated as a template', async (t) => {
  const first_name = '{{ url }}{% include "layout" %}';
  const { html, text } = await templates.render('reset', input({ variables: { first_name } }));
  t.ok(text.includes(`Hello ${first_name},`));
  t.ok(html.includes('Hello {{ url }}{% include &#34;layout&#34; %},'));
});

t.test('a subject is a single line, and so is each value in a text', async (t) => {
  const name = 'North\r\nBcc: all@example.com\u0000\u2028\u0085wind';
  const { subject, text } = await templates.render(
    'invite',
    input({ project: { name }, variables: { first_name: 'Ada\n\nYour account is blocked' } }),
  );
  t.equal(subject, 'Your invitation to North Bcc: all@example.com wind');
  t.match(text, 'Hello Ada Your account is blocked,\n');
  t.notMatch(text, /\p{Cc}(?<!\n)/u);
});

t.test('a first name that contains a link or a message is omitted', async (t) => {
  const carriers = [
    'Win at evil.example',
    'https://evil',
    'www.evil.example',
    'x'.repeat(61),
    'evil\u200b.example',
    'evil.\u00adexample',
    'evil.\u2060example',
    'evil\u200d.example',
    'evil。example',
    'evil．example',
    'ｅｖｉｌ．ｅｘａｍｐｌｅ',
    'see 192.0.2.7/login',
  ];
  for (const first_name of carriers) {
    const { html, text } = await templates.render('registration', input({ variables: { first_name } }));
    t.match(text, /^Hello,\n/, first_name);
    t.notOk(html.includes(first_name), first_name);
  }
  for (const first_name of ['J. R. R.', 'J.R.R.', 'Anne-Marie', "D'Arcy", '小丽', 'Dr. María', 'ibn ʿAbd Allāh']) {
    const { text } = await templates.render('registration', input({ variables: { first_name } }));
    t.ok(text.startsWith(`Hello ${first_name},\n`), first_name);
  }
  for (const [first_name, shown] of [
    ['\u202eAda\u2066', 'Ada'],
    ['A\u200bd\u00ada', 'Ada'],
    ['\ufeffAda', 'Ada'],
    ['می\u200cخواهم', 'می\u200cخواهم'],
  ]) {
    const { text } = await templates.render('registration', input({ variables: { first_name: first_name ?? '' } }));
    t.ok(text.startsWith(`Hello ${shown},\n`), JSON.stringify(first_name));
  }
});

t.test('the validity period uses the words and plural forms of the language', async (t) => {
  const cases: [string, number, string][] = [
    ['en-US', 7 * day, 'valid for 7 days and'],
    ['en-US', day, 'valid for 24 hours and'],
    ['en-US', 2 * day, 'valid for 2 days and'],
    ['en-US', 3_600_000, 'valid for 1 hour and'],
    ['en-US', 5_400_000, 'valid for 1 hour, 30 minutes and'],
    ['en-US', 2.5 * day + 61_000, 'valid for 2 days, 12 hours and'],
    ['en-US', 60_000, 'valid for 1 minute and'],
    ['en-US', 1_999, 'valid for 1 second and'],
    ['en-US', 0, 'valid for 1 second and'],
    ['de-DE', 3_600_000, 'Der Link ist 1 Stunde gültig'],
    ['de-DE', 7 * day, 'Der Link ist 7 Tage gültig'],
    ['fr-FR', 3_600_000, 'valable 1 heure et'],
    ['fr-FR', day, 'valable 24 heures et'],
    ['es-ES', 60_000, 'durante 1 minuto y'],
    ['es-ES', 7 * day, 'durante 7 días y'],
    ['zh-CN', 7 * day, '在7天内有效'],
  ];
  for (const [tag, validFor, expected] of cases) {
    const { text } = await templates.render('reset', input({ language: locales.pick(tag), validFor }));
    t.ok(text.replaceAll('\u00a0', ' ').includes(expected), `${tag}: ${expected}`);
  }
});

t.test('the HTML works in email clients: light and dark, wide and narrow', async (t) => {
  const { html } = await templates.render('invite', input());
  t.match(html, '<meta name="color-scheme" content="light dark">');
  t.match(html, '@media (prefers-color-scheme: dark)');
  t.match(html, '<meta name="viewport" content="width=device-width, initial-scale=1">');
  t.match(html, 'max-width:600px');
  t.match(html, /<div style="display:none;[^>]*>Choose a password to activate your account\./, 'the preheader');
  t.notMatch(html, /<(script|link|form|iframe|svg)\b|@import|url\(/i);
  for (const [table] of html.matchAll(/<table\b[^>]*>/g)) t.match(table, 'role="presentation"');
  const classes = new Set([...html.matchAll(/class="([^"]*)"/g)].flatMap(([, names = '']) => names.split(' ')));
  for (const name of classes) t.match(html, new RegExp(`^ +\\.${name}[ ,].*\\{`, 'm'), `there is a rule for .${name}`);
  t.ok(Buffer.byteLength(html) < 20_000, 'far below the size at which clients truncate an email');
});

t.test('the button has the color of the project, and readable text', async (t) => {
  const button = async (color: string | null) => {
    const { html } = await templates.render('invite', input({ project: { color } }));
    const [, border, background, text] =
      html.match(/border:1px solid ([^;]+);[^>]*background-color:([^;]+);[^>]*>\s*<a [^>]*[^-]color:([^;]+);/) ?? [];
    return { border, background, text };
  };
  t.strictSame(await button('#336699'), { border: '#336699', background: '#336699', text: '#ffffff' });
  t.strictSame(await button('#FC0'), { border: '#ffcc00', background: '#ffcc00', text: '#000000' });
  t.strictSame(await button('#fff'), { border: '#7b828d', background: '#ffffff', text: '#000000' });
  t.strictSame(await button('#000'), { border: '#7b828d', background: '#000000', text: '#ffffff' });
  const standard = await button(null);
  t.match(standard.background, /^#[0-9a-f]{6}$/);
  for (const color of ['', 'red', '#12', '#12345g', '#1234', '#fff;background:url(//x)', 'rgb(1,2,3)', '"><b>']) {
    t.strictSame(await button(color), standard, color);
  }
});

t.test('the logo replaces the name if it has a web address', async (t) => {
  const header = async (logo: string | null) => {
    const { html } = await templates.render('invite', input({ project: { logo, name: 'A & B' } }));
    return html.match(/<img[^>]*>/)?.[0];
  };
  const image = await header('https://cdn.example.com/logo.png?a=1&b=2');
  t.match(image, 'src="https://cdn.example.com/logo.png?a=1&amp;b=2"');
  t.match(image, 'alt="A &amp; B"');
  t.match(await header('http://cdn.example.com/logo.png'), 'src="http://cdn.example.com/logo.png"');
  for (const logo of [
    null,
    '',
    'logo.png',
    '/logo.png',
    'javascript:alert(1)',
    'data:image/png;base64,AA',
    'file:///x',
  ]) {
    t.equal(await header(logo), undefined, String(logo));
  }
});

t.test('custom templates take precedence over the built-in ones', async (t) => {
  const folder = t.testdir({
    'invite.html.liquid': '<p>{{ project }} <a href="{{ url }}">{{ texts.button }}</a> {{ first_name }}</p>',
    'reset.de-DE.html.liquid':
      "{% layout 'layout.html.liquid' %}{% block content %}<a href='{{ url }}'>Los</a>{% endblock %}",
    'reset.subject.liquid': 'Key\nfor {{ project }}: {{ texts.subject }}',
    'reset.de-DE.subject.liquid': 'Schlüssel',
    'registration.text.liquid': "{{ url }}\r\n\r\n\r\n\r\n{% render '_footer.text.liquid' %}",
    '_footer.text.liquid': 'Sent to {{ email }} <&>',
    '_footer.fr-FR.text.liquid': 'Envoyé à {{ email }}',
    'notes.txt': '{{ broken',
    pictures: { 'invite.html.liquid': '{{ broken' },
  });
  const own = createMailTemplates({ locales, folder });
  await own.check();
  const hostile = input({ variables: { first_name: '<b>', email: "o'ada@example.com" } });

  const invite = await own.render('invite', hostile);
  t.equal(
    invite.html,
    `<p>Northwind <a href="${url.replace('&', '&amp;')}">Accept invitation</a> &lt;b&gt;</p>\n`,
    'escaped by default',
  );
  t.equal(invite.subject, 'Your invitation to Northwind', 'other parts use the built-in templates');
  t.match(invite.text, "Sent to o'ada@example.com <&>\n", 'a built-in partial can be replaced');

  const registration = await own.render('registration', hostile);
  t.equal(registration.text, `${url}\n\nSent to o'ada@example.com <&>\n`);
  const french = await own.render('registration', input({ language: locales.pick('fr-FR') }));
  t.equal(french.text, `${url}\n\nEnvoyé à ada@example.com\n`);

  const german = await own.render('reset', input({ language: locales.pick('de-DE') }));
  t.match(german.html, /<!doctype html>[\s\S]*>Los<\/a>/);
  t.equal(german.subject, 'Schlüssel');
  const reset = await own.render('reset', input());
  t.notMatch(reset.html, 'Los</a>');
  t.equal(reset.subject, 'Key for Northwind: Reset your Northwind password');
});

t.test('the documented example works, and the documentation lists all variables', async (t) => {
  const documentation = readFileSync('docs/mail-templates.md', 'utf8');
  const examples = documentation.matchAll(/^`([\w.]+)`[^`]*```liquid\n(.*?)```/gms);
  const files = Object.fromEntries([...examples].map(([, file, source]) => [file, source]));
  t.equal(Object.keys(files).length, 4);
  const own = createMailTemplates({ locales, folder: t.testdir(files) });
  await own.check();
  const mail = await own.render('invite', input({ variables: { first_name: 'Ada' } }));
  t.equal(mail.subject, 'Welcome to Northwind');
  t.match(mail.html, 'Welcome aboard, Ada!');
  t.match(mail.html, '1 Harbour Street');
  t.equal(mail.text.split('\n')[0], 'Welcome aboard, Ada!');
  for (const name of [...Object.keys(variablesOf(input())), 'changes', 'texts', 'subject']) {
    t.match(documentation, new RegExp(`^\\|.*\`${name}\`.*\\|.*\\|$`, 'm'), name);
  }
});

t.test('a fault in a custom template is reported with its file and line', async (t) => {
  const link = '<a href="{{ url }}">x</a>\n';
  const cases: [string, string, string][] = [
    ['invite.html.liquid', `${link}{{ frist_name }}`, ', line 2: undefined variable: frist_name'],
    [
      'invite.html.liquid',
      `${link}\n{% if first_name %}{{ texts.helo }}{% endif %}`,
      ', line 3: undefined variable: texts.helo',
    ],
    ['invite.de-DE.html.liquid', `${link}{{ url | shout }}`, ', line 2: undefined filter: shout'],
    ['reset.text.liquid', '{{ url }}\n{% if email %}', ', line 2: tag {% if email %} not closed'],
    ['reset.subject.liquid', '{{ project', ', line 1: output "{{ project" not closed'],
    ['layout.html.liquid', `${link}{% nonsense %}`, ', line 2: tag "nonsense" not found'],
    ['_footer.text.liquid', '\n\n{{ nobody }}', ', line 3: undefined variable: nobody'],
    [
      'invite.html.liquid',
      `${link}{% include '../../../package.json' %}`,
      ', line 2: there is no template "../../../package.json"',
    ],
    ['invite.html.liquid', `${link}{% render '/etc/passwd' %}`, ', line 2: there is no template "/etc/passwd"'],
    [
      'invite.html.liquid',
      `${link}{% layout './../invite.html.liquid' %}`,
      ', line 2: there is no template "./../invite.html.liquid"',
    ],
    ['invite.html.liquid', `${link}{% include 'constructor' %}`, ', line 2: there is no template "constructor"'],
    ['invite.html.liquid', `${link}{% include '__proto__' %}`, ', line 2: there is no template "__proto__"'],
    ['invite.html.liquid', `${link}{{ url.constructor }}`, ', line 2: undefined variable: url.constructor'],
    [
      'invite.zh-CN.html.liquid',
      `${link}{% for i in (1..1000000000) %}x{% endfor %}`,
      ', line 2: rendering uses too much memory',
    ],
    [
      'invite.zh-CN.html.liquid',
      `${link}{% assign a = url %}{% for i in (1..99) %}{% assign a = a | append: a %}{% endfor %}`,
      ', line 2: rendering uses too much memory',
    ],
    ['invite.html.liquid', '<p>Welcome!</p>', ': the email does not contain its link; add {{ url }} to it'],
    ['invite.text.liquid', 'Welcome!', ': the email does not contain its link; add {{ url }} to it'],
    ['invite.subject.liquid', '\n', ': the subject is empty'],
    ['invite.de.html.liquid', link, ': unknown language de; the languages are de-DE, en-US, es-ES, fr-FR, zh-CN'],
    ['invitation.html.liquid', link, ': no email uses a template with this name; valid names are, for example, '],
    ['invite.htm.liquid', link, ': no email uses a template with this name; valid names are, for example, '],
    ['layout.subject.liquid', link, ': no email uses a template with this name; valid names are, for example, '],
  ];
  for (const [file, source, expected] of cases) {
    const folder = t.testdir({ [file]: source });
    const faults = await faultsOf(folder);
    const fault = faults[0] ?? 'none';
    t.equal(faults.length, 1, `${file}: ${source}`);
    t.ok(fault.startsWith(join(folder, file)), fault);
    t.ok(fault.includes(expected), fault);
  }
});

t.test('a template that never finishes is stopped', async (t) => {
  const loops = '{% for a in (1..3000) %}{% for b in (1..3000) %}{% if a == b %}x{% endif %}{% endfor %}{% endfor %}';
  const endless = {
    'invite.zh-CN.html.liquid': loops,
    'reset.zh-CN.html.liquid': "{% include 'reset.html.liquid' %}",
    '_footer.zh-CN.text.liquid': "{% include '_message.text.liquid' %}{% render '_footer.text.liquid' %}",
    'layout.zh-CN.html.liquid': "{% layout 'layout.html.liquid' %}",
  };
  for (const [file, source] of Object.entries(endless)) {
    const faults = await faultsOf(t.testdir({ [file]: source }));
    t.ok(faults.length > 0, file);
    // On a slow machine, time runs out before the stack does.
    for (const fault of faults) t.match(fault, /includes itself endlessly|rendering takes longer than a second/, file);
    if (source === loops)
      t.match(faults[0], /invite\.zh-CN\.html\.liquid, line 1: rendering takes longer than a second$/);
  }
});

t.test('all faults are reported together', async (t) => {
  const folder = t.testdir({ 'invite.html.liquid': '{{ a }}', 'reset.text.liquid': '{{ b }}', 'x.liquid': '' });
  const faults = await faultsOf(folder);
  t.equal(faults.length, 3);
  t.match(await faultsOf(join(folder, 'gone')), [/^EMAIL_TEMPLATES_PATH: .*gone cannot be read \(ENOENT\)$/]);
  t.match(await faultsOf(join(folder, 'x.liquid')), [/^EMAIL_TEMPLATES_PATH: .* cannot be read \(ENOTDIR\)$/]);
});

t.test('all texts of the emails in a language are in a single file', async (t) => {
  const words = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, `IL ${text}`]));
  const mail = Object.fromEntries(Object.entries(english.mail).map(([section, texts]) => [section, words(texts)]));
  const italian: Locale = { tag: 'it-IT', name: 'Italiano', mail };
  const arabic: Locale = { tag: 'ar-EG', name: 'العربية', mail };

  const own = createMailTemplates({ locales: withLanguage(italian) });
  await own.check();
  const rendered = await own.render('reset', input({ language: italian }));
  t.equal(rendered.subject, 'IL Reset your Northwind password');
  t.match(rendered.html, '<html lang="it-IT" dir="ltr">');
  t.match(rendered.text, 'valid for 7 giorni and');
  const rightToLeft = createMailTemplates({ locales: withLanguage(arabic) });
  t.match((await rightToLeft.render('reset', input({ language: arabic }))).html, '<html lang="ar-EG" dir="rtl">');

  const faulty = (section: string, changes: Record<string, string>) =>
    withLanguage({ ...italian, mail: { ...mail, [section]: { ...mail[section], ...changes } } });
  t.strictSame(await faultsOf(undefined, faulty('reset', { title: '' })), [
    'locales/it-IT.json: mail.reset.title is missing',
  ]);
  t.strictSame(await faultsOf(undefined, faulty('invite', { intro: '{{ projct }}' })), [
    'locales/it-IT.json: mail.invite.intro, line 1: undefined variable: projct',
  ]);
  t.strictSame(await faultsOf(undefined, faulty('reset', { intro: "{% include 'layout.html.liquid' %}" })), [
    'locales/it-IT.json: mail.reset.intro, line 1: there is no template "layout.html.liquid"',
  ]);
  const empty = { tag: 'it-IT', name: 'Italiano' } as unknown as Locale;
  t.match(await faultsOf(undefined, withLanguage(empty)), [/^locales\/it-IT\.json: mail\.common\.\w+ is missing$/]);
  await t.rejects(templates.render('reset', input({ language: italian })), /no email templates for it-IT/);
});

t.test('texts of a language file are plain text, and escaped', async (t) => {
  const mail = { ...english.mail, reset: { ...english.mail.reset, title: 'Terms & <conditions>' } };
  const custom: Locale = { tag: 'en-GB', name: 'English', mail };
  const { html } = await createMailTemplates({ locales: withLanguage(custom) }).render(
    'reset',
    input({ language: custom }),
  );
  t.match(html, 'Terms &amp; &lt;conditions&gt;');
});
