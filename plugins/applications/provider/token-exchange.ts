import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { impliedScope } from '../../../schemas/scopes.js';
import { ownScopesOf, secondsOf, settingsOf } from './clients.js';
import { type Actor, exchangeOf, type Library, type ProviderServices } from './exchange.js';
import type { ClientGrants } from './grants.js';
import type { ProviderRecords } from './records.js';
import type { ResourceTokens } from './resource-tokens.js';
import type { ResourceIndicators } from './resources.js';

export const tokenExchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

/** Maximum number of clients that act for a user one after the other. */
const maxActors = 3;

/** Lets first-party services act for a user: they exchange the user's access token for one of their own (RFC 8693). */
export function allowTokenExchange(
  { clock }: ProviderServices,
  { errors }: Library,
  provider: Provider,
  parts: {
    records: ProviderRecords;
    grants: ClientGrants;
    resources: ResourceIndicators;
    tokens: ResourceTokens;
    defaultTtl: number;
  },
): void {
  const { records, grants, resources, tokens, defaultTtl } = parts;

  const actorsIn = (act: Actor | undefined): number => (act ? 1 + actorsIn(act.act) : 0);

  const handle = async (ctx: KoaContextWithOIDC): Promise<void> => {
    const { client } = ctx.oidc;
    const params = ctx.oidc.params as Record<string, string | undefined>;
    if (!client) throw new errors.InvalidClient('the client is unknown');
    const settings = settingsOf(client);
    if (!settings.first_party || settings.type !== 'confidential') throw new errors.UnauthorizedClient();
    if (!params.subject_token || params.subject_token_type !== accessTokenType)
      throw new errors.InvalidRequest(`subject_token and subject_token_type=${accessTokenType} are required`);
    if (params.actor_token !== undefined || params.audience !== undefined)
      throw new errors.InvalidRequest('actor_token and audience are not supported');
    if (params.requested_token_type !== undefined && params.requested_token_type !== accessTokenType)
      throw new errors.InvalidRequest('only access tokens can be requested');

    const subjectHandle = await tokens.handleOf(params.subject_token);
    const subject = await provider.AccessToken.find(subjectHandle);
    const source = await records.find(subjectHandle);
    const audience = subject?.aud as string | undefined;
    const listsAudience =
      audience === undefined || settings.resources.some(({ identifier }) => identifier === audience);
    const left = source ? Math.floor((source.expires_at - clock().getTime()) / 1_000) : 0;
    // A token that is bound to a key (RFC 9449) is of no use to anyone else.
    if (!subject?.accountId || !source || !listsAudience || subject.jkt || left < 1)
      throw new errors.InvalidRequest('the subject_token cannot be exchanged');
    const extra = (subject.extra ?? {}) as { act?: Actor };
    if (actorsIn(extra.act) >= maxActors) throw new errors.InvalidRequest('the chain of actors is too long');

    const { resource } = params;
    const info = resource === undefined ? undefined : await resources.info(ctx, resource, client);
    const mayHave = new Set(info ? info.scope.split(' ') : ownScopesOf(settings));
    // An exchange gives no refresh token.
    mayHave.delete('offline_access');
    const limit = resource === audience ? [...subject.scopes].filter((scope) => mayHave.has(scope)) : [...mayHave];
    const asked = params.scope ? params.scope.split(' ') : limit;
    const excess = asked.filter((scope) => !limit.includes(scope));
    if (excess.length > 0) throw new errors.InvalidScope('more than the subject_token allows', excess.join(' '));

    const exchange = exchangeOf(ctx);
    exchange.parent = source;
    exchange.source = source;
    exchange.act = { sub: client.clientId, ...(extra.act ? { act: extra.act } : {}) };
    const user = subject.accountId;
    // The grant of the client that acts, not of the one that received the token first.
    const grant = await grants.ofFirstParty(user, client);
    const own = settings.access_token_ttl === null ? defaultTtl : secondsOf(settings.access_token_ttl);
    const token = new provider.AccessToken({
      client,
      accountId: user,
      grantId: grant.id,
      sessionUid: subject.sessionUid,
      gty: 'token_exchange',
      expiresIn: Math.min(left, info?.accessTokenTTL ?? own),
      scope: asked.join(' '),
    } as ConstructorParameters<typeof provider.AccessToken>[0]);
    if (info && resource !== undefined) token.resourceServer = new provider.ResourceServer(resource, info);
    ctx.oidc.entity('AccessToken', token);
    const value = await token.save();
    exchange.work.events.push({
      origin: { userId: user, client: exchange.client, credential: { client: client.clientId } },
      event: { action: 'token_exchange', collection: 'sessions', item: subject.sessionUid ?? null },
    });
    const scope = asked.filter((each) => each !== impliedScope).join(' ');
    ctx.body = {
      access_token: value,
      issued_token_type: accessTokenType,
      token_type: 'Bearer',
      expires_in: token.expiration,
      ...(scope === '' ? {} : { scope }),
    };
  };

  const parameters = ['subject_token', 'subject_token_type', 'requested_token_type', 'actor_token', 'actor_token_type'];
  provider.registerGrantType(tokenExchangeGrant, handle, [...parameters, 'audience', 'scope', 'resource']);
}
