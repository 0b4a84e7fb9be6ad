import { ApiError } from '../../schemas/errors.js';
import type { App } from '../app.js';
import { createItems } from './create-items.js';
import type { CollectionRoutes, ReadRoutes } from './definition.js';
import { deleteItem } from './delete-item.js';
import { deleteItems } from './delete-items.js';
import { listItems } from './list-items.js';
import { readItem } from './read-item.js';
import { searchItems } from './search-items.js';
import { updateItem } from './update-item.js';
import { updateItems } from './update-items.js';

/** The read routes, which every collection has. */
export function readRoutes(app: App, definition: ReadRoutes): void {
  app.addHook('onSend', async (request, _reply, payload) => {
    if (request.method !== 'GET' && request.method !== 'SEARCH') return;
    const most = app.config.MAX_RESPONSE_SIZE;
    if (typeof payload === 'string' && payload.length > most / 3 && Buffer.byteLength(payload) > most) {
      const reason = `The response would be larger than ${most} bytes (MAX_RESPONSE_SIZE). Request fewer rows or fields.`;
      throw new ApiError('INVALID_QUERY', { reason });
    }
  });
  listItems(app, definition);
  searchItems(app, definition);
  readItem(app, definition);
}

/** The read routes and the routes that write one or many items. */
export function itemRoutes(app: App, definition: CollectionRoutes): void {
  readRoutes(app, definition);
  createItems(app, definition);
  updateItems(app, definition);
  deleteItems(app, definition);
  updateItem(app, definition);
  deleteItem(app, definition);
}
