import { clientSchemas, clientWriteErrors } from '../../schemas/clients.js';
import { Uuid } from '../../schemas/common.js';
import type { App } from '../app.js';
import { itemRoutes } from '../items/index.js';
import { createClientSecret } from './create-client-secret.js';

export async function clientsRoutes(app: App): Promise<void> {
  createClientSecret(app);
  itemRoutes(app, {
    collection: 'clients',
    one: 'Client',
    many: 'Clients',
    tag: 'Clients',
    schemas: clientSchemas,
    errors: clientWriteErrors,
    key: Uuid('The ID of the client.'),
    created:
      'The response for a confidential client contains its `secret`, which the service stores only as a hash. Save it: no other response contains it. To create a confidential client, your session must be fresh.',
  });
}
