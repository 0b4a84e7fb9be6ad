import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline/promises';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const { MCP_URL = 'http://localhost:4000/mcp', CLIENT_ID, CLIENT_METADATA_URL } = process.env;

// Where the browser returns to. Gatehouse ignores the port of a loopback address.
const callbacks = createServer().listen(0, '127.0.0.1');
await once(callbacks, 'listening');
const redirectUrl = `http://127.0.0.1:${callbacks.address().port}/callback`;

/** What the agent knows about its access. A real one stores this. */
const stored = { client: CLIENT_ID ? { client_id: CLIENT_ID } : undefined };

const authProvider = {
  redirectUrl,
  clientMetadata: { client_name: 'An agent', redirect_uris: [redirectUrl], token_endpoint_auth_method: 'none' },
  // The URL of the agent's own metadata, if it is not registered in Gatehouse.
  clientMetadataUrl: CLIENT_METADATA_URL,
  clientInformation: () => stored.client,
  saveClientInformation: (client) => Object.assign(stored, { client }),
  tokens: () => stored.tokens,
  saveTokens: (tokens) => Object.assign(stored, { tokens }),
  codeVerifier: () => stored.verifier,
  saveCodeVerifier: (verifier) => Object.assign(stored, { verifier }),
  invalidateCredentials: (what) => {
    if (what === 'all' || what === 'tokens') stored.tokens = undefined;
  },
  redirectToAuthorization: (url) => console.log(`Open ${url}`),
};

async function connect() {
  const client = new Client({ name: 'agent', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(MCP_URL), { authProvider });
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    const [request, response] = await once(callbacks, 'request');
    response.end('You can close this window.');
    await transport.finishAuth(new URL(request.url, redirectUrl).searchParams.get('code'));
    return connect();
  }
}

const client = await connect();
callbacks.close();
callbacks.closeIdleConnections();
const terminal = createInterface({ input: process.stdin });
console.log('Press Enter to call the tool.');
for await (const _line of terminal) {
  try {
    const { content } = await client.callTool({ name: 'whoami', arguments: {} });
    console.log(`The tool returned ${content[0].text}`);
  } catch (error) {
    console.log(`The tool failed: ${error.constructor.name}`);
  }
}
