import { Button } from '../../components/button.js';
import { page } from '../../page-data.js';
import { t } from '../../texts.js';

interface Kind {
  /** The name of the framework. Without one: anything else. */
  name: string | undefined;
  type: 'public' | 'confidential';
  /** What its redirect URI usually looks like. */
  redirectUri: string;
}

export const frameworks = {
  express: { name: 'Express', type: 'confidential', redirectUri: 'https://app.example.com/callback' },
  next: {
    name: 'Next.js (Auth.js)',
    type: 'confidential',
    redirectUri: 'https://app.example.com/api/auth/callback/gatehouse',
  },
  spa: { name: 'React, Vue, Angular', type: 'public', redirectUri: 'https://app.example.com/callback' },
  mobile: { name: 'iOS, Android', type: 'public', redirectUri: 'com.example.app:/callback' },
  other: { name: undefined, type: 'confidential', redirectUri: 'https://app.example.com/callback' },
} as const satisfies Record<string, Kind>;

export type Framework = keyof typeof frameworks;

const issuer = `${location.origin}${page.base}`;

function codeFor(framework: Framework, clientId: string, redirectUri: string): string {
  switch (framework) {
    case 'express':
      return `import * as client from 'openid-client';

const config = await client.discovery(
  new URL('${issuer}'),
  '${clientId}',
  process.env.CLIENT_SECRET,
);

app.get('/login', async (request, response) => {
  const verifier = client.randomPKCECodeVerifier();
  request.session.verifier = verifier;
  response.redirect(client.buildAuthorizationUrl(config, {
    redirect_uri: '${redirectUri}',
    scope: 'openid profile email',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).href);
});`;
    case 'next':
      return `import NextAuth from 'next-auth';

export const { handlers, auth } = NextAuth({
  providers: [{
    id: 'gatehouse',
    name: 'Gatehouse',
    type: 'oidc',
    issuer: '${issuer}',
    clientId: '${clientId}',
    clientSecret: process.env.CLIENT_SECRET,
  }],
});`;
    case 'spa':
      return `import { UserManager } from 'oidc-client-ts';

const users = new UserManager({
  authority: '${issuer}',
  client_id: '${clientId}',
  redirect_uri: '${redirectUri}',
  scope: 'openid profile email',
});
await users.signinRedirect();`;
    case 'mobile':
      return `issuer:       ${issuer}
client ID:    ${clientId}
redirect URI: ${redirectUri}
scopes:       openid profile email offline_access`;
    default:
      return `discovery:     ${issuer}/.well-known/openid-configuration
client ID:     ${clientId}
client secret: …
redirect URI:  ${redirectUri}
PKCE:          S256
scopes:        openid profile email`;
  }
}

interface Props {
  framework: Framework;
  clientId: string;
  redirectUri: string;
}

/** What the developer of the application can paste. */
export function Snippet({ framework, clientId, redirectUri }: Props) {
  const code = codeFor(framework, clientId, redirectUri);
  return (
    <figure class="snippet">
      <figcaption>
        {t('applications_snippet')}
        <Button
          kind="quiet"
          icon="copy"
          label={t('applications_snippet_copy')}
          onPress={() => navigator.clipboard.writeText(code)}
        />
      </figcaption>
      {/* Long lines scroll, also with the keyboard. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region needs the focus */}
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
    </figure>
  );
}
