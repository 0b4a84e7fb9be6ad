import { type User, UserManager } from 'oidc-client-ts';
import { createRoot } from 'react-dom/client';

const users = new UserManager({
  authority: import.meta.env.VITE_GATEHOUSE_URL,
  client_id: import.meta.env.VITE_CLIENT_ID,
  redirect_uri: `${location.origin}/`,
  post_logout_redirect_uri: `${location.origin}/`,
  // With offline_access, the library renews the access token before it expires.
  scope: 'openid email offline_access',
});

/** Completes the sign-in if the browser has just returned from Gatehouse. */
async function currentUser(): Promise<User | null> {
  const parameters = new URLSearchParams(location.search);
  if (parameters.has('state') && parameters.has('iss')) {
    await users.signinCallback();
    history.replaceState(null, '', '/');
  }
  return users.getUser();
}

function App({ user }: { user: User | null }) {
  if (!user) {
    return (
      <button type="button" onClick={() => users.signinRedirect()}>
        Sign in
      </button>
    );
  }
  return (
    <>
      <p>Signed in as {user.profile.email}</p>
      <button type="button" onClick={() => users.signoutRedirect()}>
        Sign out
      </button>
    </>
  );
}

const root = document.getElementById('root') as HTMLElement;
currentUser().then((user) => createRoot(root).render(<App user={user} />));
