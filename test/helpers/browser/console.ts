import type { BrowserContextOptions } from 'playwright-core';
import type { Test } from 'tap';
import { watchPlans } from '../database/plans.js';
import { atEndOf } from '../runner/teardown.js';
import { freePort } from '../servers/ports.js';
import { startClockedService } from '../service/clocked-service.js';
import { administrator } from '../users/credentials.js';
import { asAdministrator } from '../users/over-http.js';
import { newPerson, type Person, startBrowser } from './browser.js';

/**
 * A service in the test process, a browser, and what tests of the console do with them. At the end, it checks that no view of the console
 * makes the service read an entire table.
 */
export async function startConsole(t: Test, variables: Record<string, string> = {}) {
  const port = String(await freePort());
  const service = await startClockedService(t, { PORT: port, PUBLIC_URL: `http://localhost:${port}`, ...variables });
  const plans = watchPlans(service.app, { watchesClient: true });
  atEndOf(t, async () => {
    await plans.check();
    plans.stop();
  });
  const browser = await startBrowser(t);
  return {
    service,
    /** Calls the API as the administrator. */
    call: await asAdministrator(service),
    /** A person with a session, by default of the administrator. @param user null: without a session */
    signedIn: async (
      user: { email: string; password: string } | null = administrator,
      options: BrowserContextOptions = {},
    ): Promise<Person> => {
      const person = await newPerson(browser, service, options);
      if (user === null) return person;
      const { email, password } = user;
      await person.context.request.post(`${service.url}/auth/login`, { data: { email, password, mode: 'session' } });
      return person;
    },
    /** The data that the API returns to a person. */
    read: async <T = Record<string, unknown>>({ context }: Person, path: string): Promise<T> => {
      const response = await context.request.get(`${service.url}${path}`);
      return ((await response.json()) as { data: T }).data;
    },
  };
}
