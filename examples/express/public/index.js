import { callSignedIn, isSignedOut, messageOf, refresh, signOut } from './gatehouse.js';
import { find, onClick, showAlert, showPart } from './page.js';

const hour = 3_600_000;
const goToSignIn = () => location.replace(`/sign-in?next=${encodeURIComponent(location.pathname)}`);

/** Refreshes the session now and while the page is open. The session ends if it is not refreshed for a day. */
async function keepSignedIn() {
  const { expires } = await refresh();
  setTimeout(() => keepSignedIn().catch(stop), Math.min(expires / 2, hour));
}

/** @param {unknown} error */
function stop(error) {
  if (isSignedOut(error)) goToSignIn();
  else showAlert(messageOf(error));
}

onClick('#sign-out', async () => {
  await signOut();
  location.replace('/sign-in');
});

try {
  const { greeting, email } = await callSignedIn('/api/greeting');
  find('#greeting').textContent = greeting;
  find('#address').textContent = email;
  showPart('home');
  await keepSignedIn();
} catch (error) {
  stop(error);
}
