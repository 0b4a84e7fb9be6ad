import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import {
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthMetadataRouter,
} from '@modelcontextprotocol/sdk/server/auth/router.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';
import * as oidc from 'openid-client';

const { GATEHOUSE_URL, CLIENT_ID, CLIENT_SECRET, MCP_URL = 'http://localhost:4000/mcp' } = process.env;
const resource = new URL(MCP_URL);

// The server's own client, with which it asks Gatehouse about the tokens that it receives.
const gatehouse = await oidc.discovery(new URL(GATEHOUSE_URL), CLIENT_ID, CLIENT_SECRET, undefined, {
  algorithm: 'oauth2',
  // Only to try it on your own machine. In production, Gatehouse has an https URL.
  execute: GATEHOUSE_URL.startsWith('http:') ? [oidc.allowInsecureRequests] : [],
});

const verifier = {
  /** Asks Gatehouse on every request, so that an agent whose access has ended is refused immediately. */
  async verifyAccessToken(token) {
    const { active, aud, sub, client_id: clientId, scope = '', exp } = await oidc.tokenIntrospection(gatehouse, token);
    if (!active || aud !== resource.href) throw new InvalidTokenError('The token is not valid for this server');
    return { token, clientId, scopes: scope.split(' '), expiresAt: exp, extra: { user: sub } };
  },
};

function createMcpServer() {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  server.registerTool('whoami', { description: 'Returns the user for whom the agent acts' }, ({ authInfo }) => ({
    content: [{ type: 'text', text: authInfo.extra.user }],
  }));
  return server;
}

const app = express().disable('x-powered-by');
app.use(express.json());
// Tells clients that Gatehouse issues the tokens for this server (RFC 9728).
app.use(
  mcpAuthMetadataRouter({
    oauthMetadata: gatehouse.serverMetadata(),
    resourceServerUrl: resource,
    scopesSupported: ['notes:read'],
    resourceName: 'Notes',
  }),
);
app.post(
  resource.pathname,
  requireBearerAuth({
    verifier,
    requiredScopes: ['notes:read'],
    resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
  }),
  async (req, res) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
    const server = createMcpServer();
    res.on('close', () => server.close());
    await server.connect(transport);
    await transport.handleRequest(req, res, req.body);
  },
);
app.listen(Number(resource.port), () => console.log(`Listening on ${MCP_URL}`));
