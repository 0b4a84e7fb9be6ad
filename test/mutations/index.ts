import { answersAndMails } from './answers-and-mails.js';
import { http } from './http.js';
import type { Mutation } from './mutation.js';
import { providers } from './providers.js';
import { queriesAndRights } from './queries-and-rights.js';
import { secondFactor } from './second-factor.js';
import { sessions } from './sessions.js';
import { singleUse } from './single-use.js';
import { tokens } from './tokens.js';

/** All faults, for `npm run test:mutations`. */
export const mutations: readonly Mutation[] = [
  ...answersAndMails,
  ...singleUse,
  ...sessions,
  ...secondFactor,
  ...tokens,
  ...providers,
  ...queriesAndRights,
  ...http,
];
