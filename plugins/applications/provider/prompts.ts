import type { KoaContextWithOIDC } from 'oidc-provider';
import type { HasSecondFactor } from '../second-factors.js';
import { settingsOf } from './clients.js';
import { exchangeOf, type Library } from './exchange.js';
import { secondFactorAcr } from './scopes.js';

/**
 * When an authorization request needs the user: to sign in, to register, or to consent. Whether the user has done so since is read from the
 * session, so that no page and no client can claim it.
 */
export function createPrompts(
  { interactionPolicy: { base, Check, Prompt }, errors }: Library,
  hasSecondFactor: HasSecondFactor,
) {
  const asks = (isNeeded: unknown) => (isNeeded ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT);

  /** Whether the user has signed in, or confirmed their identity, since they were asked to. */
  const hasSignedInSince = (ctx: KoaContextWithOIDC) => {
    const { interaction, session } = exchangeOf(ctx);
    return (
      ctx.oidc.route.endsWith('resume') &&
      !!interaction &&
      !!session &&
      session.authenticatedAt >= interaction.created_at
    );
  };
  const isTooOld = ({ oidc }: KoaContextWithOIDC) =>
    oidc.params?.max_age !== undefined && oidc.session?.past(oidc.params.max_age as number);
  const requiresSecondFactor = ({ oidc }: KoaContextWithOIDC) =>
    String(oidc.params?.acr_values ?? '')
      .split(' ')
      .includes(secondFactorAcr) && oidc.session?.acr !== secondFactorAcr;

  const login = new Prompt(
    { name: 'login', requestable: true },
    ({ oidc: { params, prompts } }) => ({
      ...(params?.max_age === undefined ? {} : { max_age: params.max_age }),
      ...(params?.login_hint === undefined ? {} : { login_hint: params.login_hint }),
      isRequested: prompts.has('login'),
    }),
    new Check('no_session', 'sign-in is required', 'login_required', ({ oidc }) => asks(!oidc.session?.accountId)),
    new Check('max_age', 'a more recent sign-in is required', 'login_required', (ctx) =>
      asks(isTooOld(ctx) && !hasSignedInSince(ctx)),
    ),
    new Check('id_token_hint', 'another user is signed in', 'login_required', ({ oidc }) => {
      const hint = oidc.entities.IdTokenHint?.payload.sub;
      return asks(hint !== undefined && hint !== oidc.session?.accountId);
    }),
    new Check('second_factor', 'a second factor is required', 'login_required', async (ctx) => {
      if (!requiresSecondFactor(ctx)) return asks(false);
      const user = ctx.oidc.session?.accountId;
      // Signing in again would not help.
      if (user !== undefined && !(await hasSecondFactor(user)))
        throw new errors.UnmetAuthenticationRequirements('the user has no second factor');
      return asks(true);
    }),
    new Check('restricted', 'two-factor authentication must be set up', 'interaction_required', (ctx) =>
      asks(exchangeOf(ctx).session?.isRestricted),
    ),
  );
  const create = new Prompt({ name: 'create', requestable: true });
  // The library's own checks of these prompts wait for a result that a page would have to claim.
  login.checks.remove('login_prompt');
  login.checks.add(
    new Check('login_prompt', 'a new sign-in is required', 'login_required', (ctx) =>
      asks(ctx.oidc.prompts.has('login') && !hasSignedInSince(ctx)),
    ),
  );
  create.checks.remove('create_prompt');
  create.checks.add(
    new Check('create_prompt', 'registration is required', 'interaction_required', (ctx) =>
      asks(ctx.oidc.prompts.has('create') && !hasSignedInSince(ctx)),
    ),
  );

  const policy = base();
  policy.remove('login');
  policy.add(login, 0);
  policy.add(create, 0);
  const consent = policy.get('consent');
  // What clients may do is decided by the grant.
  consent?.checks.remove('native_client_prompt');
  consent?.checks.remove('consent_prompt');
  consent?.checks.add(
    new Check('consent_prompt', 'consent is required', 'consent_required', ({ oidc }) =>
      asks(oidc.prompts.has('consent') && oidc.promptPending('consent')),
    ),
    0,
  );
  // Users cannot decide about first-party clients. Scopes that such a client may not have are left out of what it gets.
  for (const each of consent?.checks ?? []) {
    const { check } = each;
    each.check = (ctx) => (ctx.oidc.client && settingsOf(ctx.oidc.client).first_party ? asks(false) : check(ctx));
  }
  return policy;
}
