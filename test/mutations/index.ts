import { answersAndMails } from './answers-and-mails.js';
import { applications } from './applications.js';
import { emailLogin } from './email-login.js';
import { explanations } from './explanations.js';
import { http } from './http.js';
import { idempotency } from './idempotency.js';
import type { Mutation } from './mutation.js';
import { pages } from './pages.js';
import { passkeys } from './passkeys.js';
import { platform } from './platform.js';
import { providers } from './providers.js';
import { queriesAndRights } from './queries-and-rights.js';
import { queryCost } from './query-cost.js';
import { refresh } from './refresh.js';
import { registration } from './registration.js';
import { reports } from './reports.js';
import { secondFactor } from './second-factor.js';
import { sessions } from './sessions.js';
import { singleUse } from './single-use.js';
import { startup } from './startup.js';
import { stepUp } from './step-up.js';
import { tokens } from './tokens.js';
import { validTokens } from './valid-tokens.js';
import { writes } from './writes.js';

/** All faults that `npm run test:mutations` applies. */
export const mutations: readonly Mutation[] = [
  ...answersAndMails,
  ...singleUse,
  ...applications,
  ...validTokens,
  ...emailLogin,
  ...passkeys,
  ...sessions,
  ...refresh,
  ...secondFactor,
  ...stepUp,
  ...tokens,
  ...providers,
  ...queriesAndRights,
  ...explanations,
  ...queryCost,
  ...http,
  ...platform,
  ...registration,
  ...writes,
  ...idempotency,
  ...reports,
  ...pages,
  ...startup,
];
