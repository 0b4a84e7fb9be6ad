import { endSessions } from '../kit/api.js';
import { leaveTo, withQuery } from '../kit/dom.js';
import { handleForm } from '../kit/form.js';
import { page } from './page-data.js';

/** Asks the user whether to sign out, because the application could not show whose session it means. */
export function startSignOut(): void {
  handleForm('#sign-out', 'sign_out', async () => {
    await endSessions();
    await leaveTo(page.afterSignOut ?? withQuery(page.links.login, { notice: 'signed-out' }));
  });
}
