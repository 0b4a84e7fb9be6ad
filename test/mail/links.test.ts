import t from 'tap';
import { linkWith } from '../../plugins/mail/delivery.js';
import { isAllowedUrl } from '../../plugins/platform/urls.js';

const list = ['https://app.example.com/reset?from=mail', 'https://xn--exmple-cua.example/', 'myapp://reset/here'];

t.test('a URL is allowed if it equals a listed URL, or has the same origin and path', async (t) => {
  for (const url of [
    ...list,
    'https://app.example.com/reset',
    'https://app.example.com:443/reset',
    'https://APP.example.com/reset?other=1#fragment',
    'HTTPS://app.example.com/reset',
    'https://app.example.com/x/../reset',
    'https://app.example.com/%2e/reset',
    'https://app.example.com/reset?token=own',
    'https://exämple.example/',
  ]) {
    t.equal(isAllowedUrl(url, list), true, url);
  }
});

t.test('the result stays the same when the code is optimized', async (t) => {
  const results = Array.from({ length: 20_000 }, () => isAllowedUrl('https://exämple.example/', list));
  t.notOk(results.includes(false));
});

t.test('a URL that only resembles a listed one is rejected (CVE-2024-52289)', async (t) => {
  for (const url of [
    '',
    'app.example.com/reset',
    '//app.example.com/reset',
    '/reset',
    'http://app.example.com/reset',
    'https://app.example.com',
    'https://app.example.com/',
    'https://app.example.com/reset/',
    'https://app.example.com/Reset',
    'https://app.example.com/reset/more',
    'https://app.example.com/reset%2Fmore',
    'https://app.example.com//reset',
    'https://app.example.com:8443/reset',
    'https://app.example.com./reset',
    'https://app.example.com.evil.example/reset',
    'https://appxexample.com/reset',
    'https://app.examplezcom/reset',
    'https://app.example.com/resett?from=mail',
    'https://evil.example/https://app.example.com/reset',
    'https://evil.example/reset',
    'https://evil.example?https://app.example.com/reset',
    'https://user@app.example.com/reset',
    'https://user:password@app.example.com/reset',
    'https://app.example.com@evil.example/reset',
    'https://app.example.com\\@evil.example/reset',
    'https:\\\\app.example.com\\reset',
    'https:/\\app.example.com/reset',
    'https://app.example.com\\reset',
    ' https://app.example.com/reset',
    'https://app.example.com/reset ',
    'https://app.example.com/re\nset',
    'https://app.exa\tmple.com/reset',
    'https://app.example.com/reset\u0000',
    'https://app.example.com/reset\u00a0',
    'https://аpp.example.com/reset',
    'https://app。example。com.evil.example/reset',
    'https://app.example.com%2eevil.example/reset',
    'https://app.example.com#@evil.example/reset',
    'https://[::1]/reset',
    'javascript:alert(1)//https://app.example.com/reset',
    'data:text/html,https://app.example.com/reset',
    'myapp://reset/there',
    'myapp://reset/here?more',
    'file:///reset',
    'blob:https://app.example.com/reset',
  ]) {
    t.equal(isAllowedUrl(url, list), false, JSON.stringify(url));
  }
  t.equal(isAllowedUrl('https://app.example.com/reset', []), false, 'an empty list allows nothing');
});

t.test('the token is added to the URL, and the rest is unchanged', async (t) => {
  const cases = {
    'https://a.example/reset': 'https://a.example/reset?token=T',
    'https://a.example/reset?a=1%20b+c#d': 'https://a.example/reset?a=1%20b+c&token=T#d',
    'https://a.example/reset?token=own&a=1': 'https://a.example/reset?a=1&token=T',
    'https://a.example/#/route': 'https://a.example/?token=T#/route',
    'myapp://reset/here': 'myapp://reset/here?token=T',
  };
  for (const [base, link] of Object.entries(cases)) t.equal(linkWith(base, 'T'), link);
});
