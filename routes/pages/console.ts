import type { App } from '../app.js';

/** The console. All of its screens are one page, whose script shows the screen that the URL names. */
export function consoleScreens(app: App): void {
  for (const path of ['/', '/*']) {
    app.get(path, async (request, reply) => reply.sendPage(app.pages.console(request.url)));
  }
}
