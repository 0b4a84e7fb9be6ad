import { definePlugin } from '../platform/plugin.js';

/**
 * Rolls back what a failed request has written, if its commit waits for the response. Register it before all plugins that use the database
 * when a request fails, because the embedded engine has only one connection.
 */
export const unitOfWorkPlugin = definePlugin('http/unit-of-work', (_services, app) => {
  app.addHook('onError', (request, _reply, _error, done) => {
    const unit = request.cachedClient?.unit;
    if (!unit) return done();
    unit.rollBack().then(done, done);
  });
});
