const { GATEHOUSE_URL, CLIENT_ID, CLIENT_SECRET } = process.env;

/** The `providers` of Auth.js. */
export const providers = [
  {
    id: 'gatehouse',
    name: 'Gatehouse',
    type: 'oidc',
    issuer: GATEHOUSE_URL,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    checks: ['pkce', 'state', 'nonce'],
    authorization: { params: { scope: 'openid profile email' } },
  },
];
