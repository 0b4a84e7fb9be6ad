import { Uuid } from '../../schemas/common.js';
import { policySchemas, policyWriteErrors } from '../../schemas/policies.js';
import type { App } from '../app.js';
import { itemRoutes } from '../items/index.js';
import { readMyGlobals } from './read-my-globals.js';

export async function policiesRoutes(app: App): Promise<void> {
  readMyGlobals(app);
  itemRoutes(app, {
    collection: 'policies',
    one: 'Policy',
    many: 'Policies',
    tag: 'Policies',
    schemas: policySchemas,
    errors: policyWriteErrors,
    key: Uuid('The ID of the policy.'),
    administratorsOnly: ['delete'],
  });
}
