import { createServer } from 'node:http';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const { GATEHOUSE_URL, API_URL = 'http://localhost:4000/' } = process.env;

// Loads the keys when they are first needed, and again when Gatehouse has new ones.
const keys = createRemoteJWKSet(new URL(`${GATEHOUSE_URL}/oauth/jwks`));

/** The claims of an access token. It fails if the token was not issued by this Gatehouse for this API. */
async function verify(token) {
  const { payload } = await jwtVerify(token, keys, {
    issuer: GATEHOUSE_URL,
    audience: API_URL,
    typ: 'at+jwt',
    algorithms: ['RS256'],
  });
  return payload;
}

createServer(async (request, response) => {
  const [, token] = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  const send = (status, body, headers = {}) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  if (!token) return send(401, { error: 'unauthorized' }, { 'www-authenticate': 'Bearer' });
  try {
    const { sub, client_id, scope = '' } = await verify(token);
    if (!scope.split(' ').includes('orders:read')) {
      const challenge = 'Bearer error="insufficient_scope", scope="orders:read"';
      return send(403, { error: 'insufficient_scope' }, { 'www-authenticate': challenge });
    }
    return send(200, { orders: [], user: sub, client: client_id });
  } catch {
    return send(401, { error: 'invalid_token' }, { 'www-authenticate': 'Bearer error="invalid_token"' });
  }
}).listen(Number(new URL(API_URL).port), () => console.log(`Listening on ${API_URL}`));
