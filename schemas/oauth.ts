import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { grantTypes, idTokenAlgorithms } from './clients.js';
import { Closed, named } from './common.js';
import { KeySet } from './jwks.js';
import { openIdScopes } from './scopes.js';

// The requests and responses of the endpoints under `/oauth`, for the OpenAPI document. The library validates requests itself: as the
// standards require, it ignores unknown parameters, and decides which ones may be repeated.

/** The tag of these operations. */
export const protocolTag = 'OpenID Connect';

export const formType = 'application/x-www-form-urlencoded';

const text = (description: string, examples: string[] = []) =>
  Type.String({ description, ...(examples.length > 0 ? { examples } : {}) });
const texts = (description: string) => Type.Array(Type.String(), { description });
const oneOf = <const T extends readonly string[]>(values: T, description: string) =>
  Type.Unsafe<T[number]>(
    Type.Union(
      values.map((value) => Type.Literal(value)),
      { description },
    ),
  );

/** A form. The parameters that are not required are optional. */
const form = (required: TProperties, optional: TProperties, description: string, example: object) =>
  Type.Object(
    { ...required, ...Type.Partial(Type.Object(optional)).properties },
    { description, examples: [example] },
  ) as TObject;

/** A response. The members that are not required are optional. */
const response = (required: TProperties, optional: TProperties, description: string, example: object) => ({
  ...form(required, optional, description, example),
  additionalProperties: false,
});

/** What clients send if they do not use HTTP Basic authentication. */
const clientParameters = {
  client_id: text('The ID of the client. Confidential clients can send it in the `Authorization` header instead.'),
  client_secret: text(
    'The secret of a confidential client that does not send it in the `Authorization` header (`client_secret_post`).',
  ),
};

const exampleClient = '6f0c2a4e-51f7-4a0c-9d0e-6b8f0d1c2a3b';
const exampleChallenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWFbGJSstw-cM';

const resourceOfToken = text(
  'The identifier of the resource that the access token is for (RFC 8707). Without it, the token is for Gatehouse itself.',
);

const scopeText = (what: string) => text(`${what}, separated by spaces.`, ['openid email']);

/** The parameters of an authorization request, whether they are in the URL, in a form, or pushed. */
const authorizationParameters = {
  response_type: oneOf(['code'], 'What the client gets: always `code`.'),
  redirect_uri: text(
    'Where the user returns to. It must be one of the `redirect_uris` of the client, character by character. Only the port of a loopback address can differ.',
  ),
  scope: text(
    'The requested scopes, separated by spaces: those of OpenID Connect, and those of the requested resources. Without it, a request for a resource is for all scopes that the client may have there.',
    ['openid email'],
  ),
  state: text(
    'A value that the redirect to the client contains, too. It protects the client against forged responses.',
  ),
  nonce: text('A value that the ID token contains, too. Required of clients that do not use PKCE.'),
  code_challenge: text('The SHA-256 hash of the `code_verifier`, in base64url (PKCE, RFC 7636).'),
  code_challenge_method: oneOf(['S256'], 'How `code_challenge` was derived: always `S256`.'),
  resource: texts(
    'The identifiers of the resources for which the client requests access (RFC 8707). The client must list them.',
  ),
  prompt: text(
    '`none` (fail instead of asking the user), `login` (sign in again), `consent` (ask for consent again), or `create` (register), separated by spaces.',
  ),
  max_age: Type.Integer({
    minimum: 0,
    description: 'The number of seconds since the user signed in after which they must sign in again.',
  }),
  login_hint: text('The email address to fill in on the sign-in page.'),
  ui_locales: text('The preferred languages of the pages, separated by spaces.', ['de fr']),
  acr_values: text('`urn:gatehouse:mfa` requires that the user signed in with a second factor.'),
  id_token_hint: text('An ID token of the user who is expected to be signed in.'),
  response_mode: oneOf(
    ['query', 'fragment', 'form_post'],
    'How the response is returned to the client. By default, `query`.',
  ),
  dpop_jkt: text('The thumbprint of the key to which the code is bound (RFC 9449, 10).'),
};

const authorizationExample = {
  client_id: exampleClient,
  response_type: 'code',
  redirect_uri: 'https://shop.example.com/callback',
  scope: 'openid email',
  state: 'af0ifjsldkj',
  code_challenge: exampleChallenge,
  code_challenge_method: 'S256',
};

/** The parameters of an authorization request. */
export const AuthorizationParameters = form(
  { client_id: text('The ID of the client: a UUID or, if nobody registered the client, the URL of its metadata.') },
  {
    ...authorizationParameters,
    request_uri: text(
      'The `request_uri` of a pushed authorization request, which takes the place of all other parameters except `client_id`.',
    ),
  },
  'An authorization request (OpenID Connect Core 1.0, 3.1.2.1; RFC 6749, 4.1.1).',
  authorizationExample,
);

export const AuthorizationForm = named('AuthorizationForm', AuthorizationParameters);

export const PushedAuthorizationForm = named(
  'PushedAuthorizationForm',
  form(
    {},
    { ...clientParameters, ...authorizationParameters },
    'An authorization request, with the authentication of the client (RFC 9126, 2.1).',
    authorizationExample,
  ),
);

export const PushedAuthorizationResponse = named(
  'PushedAuthorizationResponse',
  Closed(
    {
      request_uri: text('The reference to the request. It can be used once.'),
      expires_in: Type.Integer({ description: 'How long it is valid, in seconds.' }),
    },
    {
      description: 'A pushed authorization request (RFC 9126, 2.2).',
      examples: [{ request_uri: 'urn:ietf:params:oauth:request_uri:6esc_11ACC5bwc014ltc14eY22c', expires_in: 60 }],
    },
  ),
);

export const TokenForm = named(
  'TokenForm',
  form(
    {
      grant_type: oneOf(grantTypes, 'How the client gets the tokens. It must be one of its `grant_types`.'),
    },
    {
      ...clientParameters,
      code: text('`authorization_code`: the code from the redirect.'),
      redirect_uri: text('`authorization_code`: the `redirect_uri` of the authorization request.'),
      code_verifier: text('`authorization_code`: the secret from which `code_challenge` was derived.'),
      refresh_token: text('`refresh_token`: the refresh token. The response contains its successor.'),
      device_code: text('`urn:ietf:params:oauth:grant-type:device_code`: the `device_code` of the device.'),
      subject_token: text(
        'Token exchange: the access token of the user, for a resource that the client lists, or for Gatehouse.',
      ),
      subject_token_type: text(
        'Token exchange: `urn:ietf:params:oauth:token-type:access_token`. Other types are not supported.',
      ),
      requested_token_type: text('Token exchange: the same value, or absent.'),
      scope: scopeText('The scopes of the access token, if it should have fewer than the client may have'),
      resource: resourceOfToken,
    },
    'A request for tokens (RFC 6749, RFC 8628, RFC 8693). Each parameter belongs to the grant type that its description names.',
    {
      grant_type: 'authorization_code',
      code: 'SplxlOBeZQQYbYS6WxSbIA',
      redirect_uri: 'https://shop.example.com/callback',
      code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
    },
  ),
);

export const TokenResponse = named(
  'TokenResponse',
  Type.Object(
    {
      access_token: text(
        'The access token: a JWT (RFC 9068) for a resource, and otherwise an opaque text for Gatehouse itself.',
      ),
      token_type: oneOf(
        ['Bearer', 'DPoP'],
        'How the access token is presented. `DPoP`: it is bound to a key (RFC 9449).',
      ),
      expires_in: Type.Integer({ description: 'How long the access token is valid, in seconds.' }),
      refresh_token: Type.Optional(text('The refresh token, if the client may use one.')),
      id_token: Type.Optional(text('The ID token, if the scopes include `openid`.')),
      scope: Type.Optional(scopeText('The scopes of the access token')),
      issued_token_type: Type.Optional(text('Token exchange: the type of the token.')),
    },
    {
      additionalProperties: false,
      description: 'The tokens.',
      examples: [
        {
          access_token: 'kz6XdQAcSxSy1ZbwBXHLfXQNQdTnWCwEEmfXYpWRSoI',
          token_type: 'Bearer',
          expires_in: 900,
          id_token: 'eyJ…',
          scope: 'openid email',
        },
      ],
    },
  ),
);

/** The claims that scopes return, in the order of `openIdScopes`. */
export const UserInfo = named(
  'UserInfo',
  response(
    { sub: text('The ID of the user.') },
    {
      name: text('Scope `profile`: the full name.'),
      given_name: text('Scope `profile`: the first name.'),
      family_name: text('Scope `profile`: the last name.'),
      locale: text('Scope `profile`: the language.'),
      picture: text('Scope `profile`: the URL of the picture.'),
      updated_at: Type.Integer({
        description: 'Scope `profile`: when the profile or the email address last changed, in seconds since 1970.',
      }),
      email: text('Scope `email`: the email address.'),
      email_verified: Type.Boolean({ description: 'Scope `email`: whether the address has been verified.' }),
      roles: texts('Scope `roles`: the name of the user’s role, and those of its parents.'),
      groups: texts('Scope `groups`: the same list.'),
    },
    'The claims about the user that the scopes of the access token allow (OpenID Connect Core 1.0, 5.1). Claims without a value are absent.',
    { sub: '0c9d5d6e-3f0b-4d0c-9d53-6a4f1e0c8b21', email: 'ada@example.com', email_verified: true },
  ),
);

export const UserInfoForm = named(
  'UserInfoForm',
  form(
    {},
    { access_token: text('The access token, if it is not in the `Authorization` header (RFC 6750, 2.2).') },
    'A request for the claims about a user.',
    { access_token: 'kz6XdQAcSxSy1ZbwBXHLfXQNQdTnWCwEEmfXYpWRSoI' },
  ),
);

const tokenForm = (name: string, verb: string, standard: string) =>
  named(
    name,
    form(
      { token: text(`The token to ${verb}: an access token (also a JWT for a resource) or a refresh token.`) },
      {
        ...clientParameters,
        token_type_hint: text('`access_token` or `refresh_token`. The service finds the token without it, too.'),
      },
      `A request to ${verb} a token (${standard}).`,
      { token: 'kz6XdQAcSxSy1ZbwBXHLfXQNQdTnWCwEEmfXYpWRSoI' },
    ),
  );

export const IntrospectionForm = tokenForm('IntrospectionForm', 'introspect', 'RFC 7662, 2.1');
export const RevocationForm = tokenForm('RevocationForm', 'revoke', 'RFC 7009, 2.1');

const Seconds = (description: string) => Type.Integer({ description: `${description}, in seconds since 1970.` });

/** The clients that act for a user: at most three, the latest first. */
const actor = (former: TProperties = {}) =>
  Closed(
    { sub: text('The ID of the client.'), ...Type.Partial(Type.Object(former)).properties },
    { description: 'The client that acts for the user. Its `act` is the one that acted before it (RFC 8693, 4.1).' },
  );
const Actor = actor({ act: actor({ act: actor() }) });

export const IntrospectionResponse = named(
  'IntrospectionResponse',
  response(
    { active: Type.Boolean({ description: 'Whether the token works. If not, there are no other members.' }) },
    {
      sub: text('The ID of the user. Absent if the token belongs to no user (`client_credentials`).'),
      client_id: text('The ID of the client that the token was issued to.'),
      iss: text('The issuer.'),
      aud: text('The identifier of the resource. Absent if the token is for Gatehouse itself.'),
      scope: scopeText('The scopes of the token'),
      token_type: oneOf(['Bearer', 'DPoP'], 'How the token is presented. Absent for refresh tokens.'),
      exp: Seconds('When the token expires'),
      iat: Seconds('When the token was issued'),
      auth_time: Seconds('When the user signed in'),
      sid: text('The ID of the session in which the user gave the access.'),
      jti: text('The ID of the token.'),
      cnf: Closed(
        { jkt: text('The thumbprint of the key.') },
        { description: 'The key to which the token is bound (RFC 9449, 6).' },
      ),
      act: Actor,
    },
    'The state of a token (RFC 7662, 2.2).',
    {
      active: true,
      sub: '0c9d5d6e-3f0b-4d0c-9d53-6a4f1e0c8b21',
      client_id: exampleClient,
      iss: 'https://accounts.example.com',
      aud: 'https://orders.example.com',
      scope: 'orders:read',
      token_type: 'Bearer',
      exp: 1_769_851_613,
      iat: 1_769_851_013,
    },
  ),
);

export const DeviceAuthorizationForm = named(
  'DeviceAuthorizationForm',
  form(
    {},
    {
      ...clientParameters,
      scope: authorizationParameters.scope,
      resource: authorizationParameters.resource,
      max_age: authorizationParameters.max_age,
      acr_values: authorizationParameters.acr_values,
    },
    'A request of a device (RFC 8628, 3.1).',
    { client_id: exampleClient, scope: 'openid offline_access' },
  ),
);

export const DeviceAuthorizationResponse = named(
  'DeviceAuthorizationResponse',
  Closed(
    {
      device_code: text('The code with which the device asks for tokens.'),
      user_code: text('The code that the user enters.', ['BCDF-GHJK']),
      verification_uri: text('The page on which the user enters it.'),
      verification_uri_complete: text('The same page, with the code. Show it as a QR code, for example.'),
      expires_in: Type.Integer({ description: 'How long the codes are valid, in seconds.' }),
      interval: Type.Integer({ description: 'How long the device must wait between two requests, in seconds.' }),
    },
    {
      description: 'The codes (RFC 8628, 3.2).',
      examples: [
        {
          device_code: 'GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS',
          user_code: 'BCDF-GHJK',
          verification_uri: 'https://accounts.example.com/account/device',
          verification_uri_complete: 'https://accounts.example.com/account/device?user_code=BCDF-GHJK',
          expires_in: 600,
          interval: 5,
        },
      ],
    },
  ),
);

/** The parameters with which a client signs a user out. */
export const EndSessionParameters = form(
  {},
  {
    id_token_hint: text(
      'An ID token of the user, which may have expired. Without it, or with one that is not of this session, the user is asked first.',
    ),
    client_id: text('The ID of the client, if there is no ID token.'),
    post_logout_redirect_uri: text(
      'Where the user returns to. It must be one of the `post_logout_redirect_uris` of the client.',
    ),
    state: text('A value that the redirect contains, too.'),
  },
  'A request to sign the user out (OpenID Connect RP-Initiated Logout 1.0, 2).',
  { id_token_hint: 'eyJ…', post_logout_redirect_uri: 'https://shop.example.com/' },
);

export const EndSessionForm = named('EndSessionForm', EndSessionParameters);

const url = (what: string) => text(`The URL of ${what}.`);
const listed = (what: string) => texts(`${what} that the service supports.`);

export const ProviderMetadata = named(
  'ProviderMetadata',
  response(
    {
      issuer: text('The issuer: `PUBLIC_URL`.'),
      authorization_endpoint: url('`/oauth/authorize`'),
      token_endpoint: url('`/oauth/token`'),
      userinfo_endpoint: url('`/oauth/userinfo`'),
      jwks_uri: url('`/oauth/jwks`'),
      introspection_endpoint: url('`/oauth/introspect`'),
      revocation_endpoint: url('`/oauth/revoke`'),
      end_session_endpoint: url('`/oauth/end-session`'),
      pushed_authorization_request_endpoint: url('`/oauth/par`'),
      device_authorization_endpoint: url('`/oauth/device`'),
      scopes_supported: listed('The scopes of OpenID Connect and of the service itself'),
      claims_supported: listed('The claims'),
      claim_types_supported: listed('The kinds of claims'),
      response_types_supported: listed('The response types'),
      response_modes_supported: listed('The response modes'),
      grant_types_supported: listed('The grant types'),
      subject_types_supported: listed('The kinds of `sub`'),
      id_token_signing_alg_values_supported: listed('The algorithms for ID tokens'),
      token_endpoint_auth_methods_supported: listed('The ways in which clients authenticate'),
      code_challenge_methods_supported: listed('The methods of PKCE'),
      prompt_values_supported: listed('The values of `prompt`'),
      ui_locales_supported: listed('The languages of the pages'),
      acr_values_supported: listed('The values of `acr_values`'),
      dpop_signing_alg_values_supported: listed('The algorithms for DPoP proofs'),
      authorization_response_iss_parameter_supported: Type.Boolean({
        description: 'Whether redirects to clients contain `iss` (RFC 9207).',
      }),
      claims_parameter_supported: Type.Boolean({ description: 'Whether requests can contain `claims`.' }),
      request_uri_parameter_supported: Type.Boolean({
        description: 'Whether requests can contain a `request_uri` that was not pushed.',
      }),
    },
    {
      client_id_metadata_document_supported: Type.Boolean({
        description:
          'Whether a client ID can be the URL of the metadata of the client. Present if the setting `unregistered_clients` allows some.',
      }),
      backchannel_logout_supported: Type.Boolean({
        description: 'Whether clients are notified when a session ends (OpenID Connect Back-Channel Logout 1.0).',
      }),
      backchannel_logout_session_supported: Type.Boolean({
        description: 'Whether these notifications contain the ID of the session.',
      }),
    },
    'What the service supports, and where (OpenID Connect Discovery 1.0, 3; RFC 8414, 2).',
    {
      issuer: 'https://accounts.example.com',
      ...Object.fromEntries(
        Object.entries({
          authorization_endpoint: 'authorize',
          token_endpoint: 'token',
          userinfo_endpoint: 'userinfo',
          jwks_uri: 'jwks',
          introspection_endpoint: 'introspect',
          revocation_endpoint: 'revoke',
          end_session_endpoint: 'end-session',
          pushed_authorization_request_endpoint: 'par',
          device_authorization_endpoint: 'device',
        }).map(([name, path]) => [name, `https://accounts.example.com/oauth/${path}`]),
      ),
      scopes_supported: [...openIdScopes, '*', 'users:read'],
      claims_supported: ['sub', 'name', 'email', 'email_verified', 'roles'],
      claim_types_supported: ['normal'],
      response_types_supported: ['code'],
      response_modes_supported: ['form_post', 'fragment', 'query'],
      grant_types_supported: [...grantTypes],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [...idTokenAlgorithms],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      code_challenge_methods_supported: ['S256'],
      prompt_values_supported: ['none', 'login', 'consent', 'create'],
      ui_locales_supported: ['en-US', 'de-DE'],
      acr_values_supported: ['urn:gatehouse:mfa'],
      dpop_signing_alg_values_supported: ['ES256', 'EdDSA'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
      claims_parameter_supported: false,
      request_uri_parameter_supported: false,
    },
  ),
);

/** A set of keys has a media type of its own (RFC 7517, 8.5). */
export const KeySetResponse = {
  description: 'The keys.',
  content: { 'application/jwk-set+json': { schema: KeySet } },
};

/** A page for the user. */
export const Page = (description: string) => ({ description, content: { 'text/html': { schema: Type.String() } } });

/** What the error codes mean (RFC 6749, 4.1.2.1 and 5.2; RFC 6750, 3.1; RFC 8628, 3.5; RFC 8707, 2; RFC 9449, 5). */
const errorMeanings = {
  invalid_request: 'A parameter is missing, invalid, or repeated, or the request is malformed.',
  invalid_client:
    'The client is unknown or could not be authenticated, or the setting `unregistered_clients` does not allow it.',
  invalid_client_metadata: 'The metadata at the URL of the client is not valid.',
  invalid_redirect_uri: 'The redirect URI is not one of the client, or the client may not have it.',
  invalid_grant:
    'The code or the refresh token is wrong, has expired, was used before, or belongs to another client, or what it depends on has ended.',
  invalid_scope: 'A scope is unknown, or the client may not request it.',
  invalid_target: 'The client may not request tokens for the resource, or the user was not asked for it.',
  unauthorized_client: 'The client may not do this.',
  unsupported_grant_type: 'The grant type is unknown.',
  unsupported_response_type: 'The response type is not `code`.',
  unsupported_response_mode: 'The response mode is unknown.',
  request_not_supported: 'The parameter `request` is not supported.',
  request_uri_not_supported: 'The `request_uri` is not that of a pushed request.',
  registration_not_supported: 'The parameter `registration` is not supported.',
  authorization_pending: 'The user has not decided yet. Ask again after `interval` seconds.',
  slow_down: 'The device asks too often. Wait for `interval` seconds.',
  access_denied: 'The user has declined the request, or what it depends on has ended.',
  invalid_dpop_proof: 'The DPoP proof is invalid, or was used before.',
  invalid_token: 'The access token is missing, unknown, expired, or for a resource, or its user or session has ended.',
  insufficient_scope: 'The access token does not have the scope `openid`, or the requested ones.',
  temporarily_unavailable: 'The service is unavailable, or the client has sent too many requests or wrong secrets.',
  server_error: 'The service has failed.',
} as const;

export type OAuthErrorCode = keyof typeof errorMeanings;

const errorSchema = (codes: readonly OAuthErrorCode[]): TSchema =>
  Closed(
    {
      error: oneOf(codes, codes.map((code) => `- \`${code}\`: ${errorMeanings[code]}`).join('\n')),
      error_description: Type.Optional(
        text('A description for developers. It may change, so rely on `error` instead.'),
      ),
      scope: Type.Optional(text('The scope that the error is about.')),
    },
    {
      description: codes.map((code) => `\`${code}\``).join(', '),
      examples: [{ error: codes[0], error_description: errorMeanings[codes[0] as OAuthErrorCode] }],
    },
  );

/** The error bodies that most endpoints share. */
const sharedErrors = Object.fromEntries(
  (['invalid_request', 'invalid_client', 'temporarily_unavailable', 'server_error'] as const).map((code) => {
    const name = code.replaceAll(/(?:^|_)(.)/g, (_match, letter: string) => letter.toUpperCase());
    return [code, named(`${name}OAuthError`, errorSchema([code]))];
  }),
);

/** The body of an error with one of these codes. */
const errorBody = (codes: readonly OAuthErrorCode[]): TSchema => {
  const shared = codes.length === 1 ? sharedErrors[codes[0] as OAuthErrorCode] : undefined;
  return shared ? { ...shared, description: codes.map((code) => `\`${code}\``).join() } : errorSchema(codes);
};

/** How the client or the token was to be authenticated (RFC 9110, 11.6.1). */
const authenticate = {
  'www-authenticate': Type.String({
    description:
      'The scheme of authentication, and the error. Sent if the request has an `Authorization` header, and by `/oauth/userinfo`.',
    examples: ['Basic realm="https://accounts.example.com", error="invalid_client"'],
  }),
};

/** The errors that every endpoint can return. */
const everywhere: Record<number, readonly OAuthErrorCode[]> = {
  400: ['invalid_request'],
  429: ['temporarily_unavailable'],
  500: ['server_error'],
  503: ['temporarily_unavailable'],
};

/** The error responses of an endpoint (RFC 6749, 5.2). */
export function oauthErrors(codes: Readonly<Record<number, readonly OAuthErrorCode[]>> = {}): Record<number, TSchema> {
  const statuses = new Set([...Object.keys(everywhere), ...Object.keys(codes)].map(Number));
  return Object.fromEntries(
    [...statuses].sort().map((status) => {
      const all = [...new Set([...(codes[status] ?? []), ...(everywhere[status] ?? [])])];
      // `/oauth/userinfo` sends it with all errors about the request.
      const hasHeader = status === 401 || status === 403 || (status === 400 && codes[403] !== undefined);
      return [status, { ...errorBody(all), ...(hasHeader ? { headers: authenticate } : {}) }];
    }),
  );
}

/** The errors of endpoints at which clients authenticate. */
export const clientErrors = {
  400: ['invalid_request', 'invalid_client', 'invalid_client_metadata', 'invalid_redirect_uri'],
  401: ['invalid_client'],
} as const satisfies Record<number, readonly OAuthErrorCode[]>;

/** A redirect of the browser. */
export const redirect = (description: string, cookies: string): TSchema =>
  ({
    type: 'null',
    description,
    headers: {
      location: Type.String({ description: 'The target of the redirect.' }),
      'set-cookie': Type.String({ description: cookies }),
    },
  }) as unknown as TSchema;
