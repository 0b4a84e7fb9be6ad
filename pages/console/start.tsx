import { render } from 'preact';
import { Router } from 'wouter-preact';
import { goToLogin } from '../kit/api.js';
import { ApiFailure } from '../kit/api-failure.js';
import { enableCodeFields } from '../kit/code-field.js';
import { enableDialogs } from '../kit/dialogs.js';
import { find } from '../kit/dom.js';
import { enablePasswordToggles } from '../kit/password-toggle.js';
import { forgetAttempt, restoreQuery } from '../kit/provider-attempt.js';
import { get } from './api/client.js';
import { setOwner } from './api/session.js';
import { AccessProvider, accessOf, type Me } from './app/access.js';
import { forgetDraftsOfOthers } from './app/draft.js';
import { SignedIn } from './app/session-dialog.js';
import { Shell } from './app/shell.js';
import { Failure } from './components/failure.js';
import { page } from './page-data.js';

const root = `${page.base}/console`;
const place = find('#console');

async function start() {
  await restoreQuery();
  forgetAttempt();
  if (location.pathname === `${root}/signed-in`) return render(<SignedIn />, place);
  const [me, globals, permissions] = await Promise.all([
    get('/users/me', { query: { fields: 'id,first_name,last_name,email,avatar' } }),
    get('/policies/me/globals'),
    get('/permissions/me'),
  ]);
  const own = me.data as Me;
  setOwner(own.id);
  forgetDraftsOfOthers(own.id);
  place.textContent = '';
  render(
    <AccessProvider value={accessOf(own, globals.data.admin_access, permissions.data)}>
      <Router base={root}>
        <Shell />
      </Router>
    </AccessProvider>,
    place,
  );
}

// The dialog that asks users to prove their identity is part of the kit.
enablePasswordToggles();
enableCodeFields();
enableDialogs();
try {
  await start();
} catch (failure) {
  if (failure instanceof ApiFailure && failure.isSignedOut) await goToLogin();
  if (!(failure instanceof ApiFailure)) console.error(failure);
  place.textContent = '';
  render(<Failure failure={failure} retry={() => location.reload()} />, place);
} finally {
  place.removeAttribute('aria-busy');
}
