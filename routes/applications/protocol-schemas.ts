import type { FastifySchema } from 'fastify';
import {
  AuthorizationForm,
  AuthorizationParameters,
  clientErrors,
  DeviceAuthorizationForm,
  DeviceAuthorizationResponse,
  EndSessionForm,
  EndSessionParameters,
  formType,
  IntrospectionForm,
  IntrospectionResponse,
  KeySetResponse,
  type OAuthErrorCode,
  oauthErrors,
  Page,
  ProviderMetadata,
  PushedAuthorizationForm,
  PushedAuthorizationResponse,
  protocolTag,
  RevocationForm,
  redirect,
  TokenForm,
  TokenResponse,
  UserInfo,
  UserInfoForm,
} from '../../schemas/oauth.js';
import { browserSession, clientCredential, clientToken } from '../../schemas/security.js';

// How the endpoints of the protocol appear in the OpenAPI document. These schemas validate nothing: the library does.

const operation = (
  operationId: string,
  summary: string,
  description: string,
  more: Pick<FastifySchema, 'security' | 'documented'>,
): FastifySchema => ({
  operationId,
  tags: [protocolTag],
  summary,
  description,
  consumes: [formType],
  security: [],
  ...more,
});

const authorizationCookies = 'The cookies that bind the request to this browser, or clear them.';

const { 400: malformed, 429: tooMany, ...otherErrors } = oauthErrors();

/** The errors that are not returned to the client. */
const errorsForUsers = {
  400: {
    description: 'A page for users who cannot return to the client. JSON, if the request is malformed.',
    content: { ...Page('').content, 'application/json': { schema: malformed } },
  },
  429: tooMany,
  ...otherErrors,
};

export const authorizeSchema = operation(
  'authorize',
  'Start a sign-in',
  'Clients redirect users to this URL. If the user is signed in and has given the client the access, the response redirects them to the client with a `code`; otherwise, to a page on which they sign in or decide first. Errors are returned to the client in the redirect (`error`), unless the client or its redirect URI is invalid: in this case, the user sees an error page. Codes are valid for one minute. PKCE is required, except for clients with `pkce_required: false`.',
  {
    security: browserSession,
    documented: {
      querystring: AuthorizationParameters,
      response: {
        200: Page('With `response_mode=form_post`: a page that sends the response to the client.'),
        303: redirect('A redirect to the client, or to a page of the service.', authorizationCookies),
        ...errorsForUsers,
      },
    },
  },
);

export const authorizeByFormSchema = operation(
  'authorizeByForm',
  'Start a sign-in with a form',
  'The same as `GET`, for clients that send the parameters in a form (OpenID Connect Core 1.0, 3.1.2.1). The response redirects the browser to the `GET` request, to which the browser then sends its session cookie.',
  {
    documented: {
      body: AuthorizationForm,
      response: {
        303: redirect('A redirect to the request with `GET`.', authorizationCookies),
        400: malformed,
        429: tooMany,
      },
    },
  },
);

const requestErrors = [
  'invalid_scope',
  'invalid_target',
  'request_not_supported',
  'request_uri_not_supported',
  'registration_not_supported',
] as const satisfies OAuthErrorCode[];

export const pushSchema = operation(
  'pushAuthorizationRequest',
  'Push an authorization request',
  'Stores the parameters of an authorization request (RFC 9126), so that they are not in a URL. Then redirect the user to `/oauth/authorize` with `client_id` and the `request_uri` of the response.',
  {
    security: clientCredential,
    documented: {
      body: PushedAuthorizationForm,
      response: {
        201: { ...PushedAuthorizationResponse, description: 'The request is stored.' },
        ...oauthErrors({
          ...clientErrors,
          400: [
            ...clientErrors[400],
            ...requestErrors,
            'unsupported_response_type',
            'unsupported_response_mode',
            'invalid_dpop_proof',
          ],
        }),
      },
    },
  },
);

export const tokenSchema = operation(
  'requestToken',
  'Request tokens',
  'Exchanges a code, a refresh token, a device code, the credentials of the client, or the access token of a user for tokens. A refresh token works once: the response contains its successor. If a client repeats a request within `SESSION_REFRESH_GRACE_PERIOD`, it gets the same successor. Wrong secrets are counted by client and IP address, like wrong passwords. With a `DPoP` header (RFC 9449), the tokens are bound to the key of the client.',
  {
    security: clientCredential,
    documented: {
      body: TokenForm,
      response: {
        200: { ...TokenResponse, description: 'The tokens.' },
        ...oauthErrors({
          ...clientErrors,
          400: [
            ...clientErrors[400],
            'invalid_grant',
            'invalid_scope',
            'invalid_target',
            'unsupported_grant_type',
            'unauthorized_client',
            'authorization_pending',
            'slow_down',
            'access_denied',
            'invalid_dpop_proof',
          ],
        }),
      },
    },
  },
);

const userInfoDescription =
  'Returns the claims about the user that the scopes of the access token allow. The token must be for Gatehouse itself, not for a resource, and have the scope `openid`.';

const userInfoResponse = {
  200: { ...UserInfo, description: 'The claims.' },
  ...oauthErrors({ 401: ['invalid_token', 'invalid_dpop_proof'], 403: ['insufficient_scope'] }),
};

export const userInfoSchema = operation('readUserInfo', 'Read the claims', userInfoDescription, {
  security: clientToken,
  documented: { response: userInfoResponse },
});

export const userInfoByFormSchema = operation(
  'readUserInfoByForm',
  'Read the claims with a form',
  `${userInfoDescription} It is in the header or in the form.`,
  { security: clientToken, documented: { body: UserInfoForm, response: userInfoResponse } },
);

export const keysSchema = operation(
  'readProviderKeys',
  'Read the keys of tokens',
  'Returns a JSON Web Key Set (RFC 7517), with which clients verify ID tokens, and APIs verify access tokens. Verify the issuer, the audience, the type, and the algorithm, too.',
  { documented: { response: { 200: KeySetResponse, ...oauthErrors() } } },
);

export const introspectionSchema = operation(
  'introspectToken',
  'Introspect a token',
  'Returns whether a token works, and what it allows (RFC 7662). Clients can introspect their own tokens, and confidential clients also those for resources that they list. Other tokens, and those whose session, grant, user, or client has ended, are not active.',
  {
    security: clientCredential,
    documented: {
      body: IntrospectionForm,
      response: {
        200: { ...IntrospectionResponse, description: 'The state of the token.' },
        ...oauthErrors(clientErrors),
      },
    },
  },
);

export const revocationSchema = operation(
  'revokeToken',
  'Revoke a token',
  'Revokes a token of the client (RFC 7009). With a refresh token, everything that was issued for the same code ends; with an access token, only that token and those that were exchanged from it. The response is the same for unknown tokens.',
  {
    security: clientCredential,
    documented: {
      body: RevocationForm,
      response: {
        200: { type: 'null', description: 'The token does not work.' },
        ...oauthErrors(clientErrors),
      },
    },
  },
);

export const deviceSchema = operation(
  'authorizeDevice',
  'Start a sign-in on a device',
  'For devices without a browser (RFC 8628). Show the user `user_code` and `verification_uri`, and ask `/oauth/token` for tokens every `interval` seconds until the user has decided.',
  {
    security: clientCredential,
    documented: {
      body: DeviceAuthorizationForm,
      response: {
        200: { ...DeviceAuthorizationResponse, description: 'The codes.' },
        ...oauthErrors({ ...clientErrors, 400: [...clientErrors[400], ...requestErrors] }),
      },
    },
  },
);

const endSessionDescription =
  'Clients redirect users to this URL to sign them out of Gatehouse (OpenID Connect RP-Initiated Logout 1.0). This ends the session, and the tokens of all applications that belong to it. With an `id_token_hint` of this session, the user is signed out immediately; otherwise, a page asks them first.';

const endSessionResponse = {
  303: redirect(
    'A redirect to `post_logout_redirect_uri`, or to a page of the service.',
    'Clears the cookies of the session.',
  ),
  ...oauthErrors(),
};

export const endSessionSchema = operation('endSession', 'Sign a user out', endSessionDescription, {
  security: browserSession,
  documented: { querystring: EndSessionParameters, response: endSessionResponse },
});

export const endSessionByFormSchema = operation(
  'endSessionByForm',
  'Sign a user out with a form',
  `${endSessionDescription} The parameters are in the form.`,
  { security: browserSession, documented: { body: EndSessionForm, response: endSessionResponse } },
);

const metadataResponse = { 200: { ...ProviderMetadata, description: 'The metadata.' }, ...oauthErrors() };

/** The metadata of the provider, by the name of the document below `/.well-known`. */
export const metadataSchemas = {
  'openid-configuration': operation(
    'readOpenIdConfiguration',
    'Read the provider metadata',
    'Returns what the service supports, and where (OpenID Connect Discovery 1.0). Client libraries need only its issuer, which is `PUBLIC_URL`.',
    { documented: { response: metadataResponse } },
  ),
  'oauth-authorization-server': operation(
    'readAuthorizationServerMetadata',
    'Read the authorization server metadata',
    'Returns the same document as `/.well-known/openid-configuration`, for clients that know only OAuth 2.0 (RFC 8414).',
    { documented: { response: metadataResponse } },
  ),
};
