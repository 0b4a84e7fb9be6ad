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

/** What every collection has in common: reading by the query language. */
export function readRoutes(app: App, definition: ReadRoutes): void {
  listItems(app, definition);
  searchItems(app, definition);
  readItem(app, definition);
}

/** The same, and writing one or many. */
export function itemRoutes(app: App, definition: CollectionRoutes): void {
  readRoutes(app, definition);
  createItems(app, definition);
  updateItems(app, definition);
  deleteItems(app, definition);
  updateItem(app, definition);
  deleteItem(app, definition);
}
