import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { callSignedIn, signOut as endSession, isSignedOut, refresh } from '../express/public/gatehouse.js';

export interface User {
  id: string;
  email: string | null;
  first_name: string | null;
}

interface Account {
  /** `undefined` until it is known, and `null` if no user is signed in. */
  user: User | null | undefined;
  /** Reads the user again, after a login. */
  reload(): Promise<void>;
  signOut(): Promise<void>;
}

const AccountContext = createContext<Account | null>(null);

/** Provides the signed-in user to all components inside it, and keeps the session alive while the page is open. */
export function AccountProvider({ children }: { children: ReactNode }) {
  const [user, setUser] = useState<User | null>();

  const reload = async () => {
    try {
      setUser(await callSignedIn('/users/me/profile'));
    } catch (error) {
      if (!isSignedOut(error)) throw error;
      setUser(null);
    }
  };
  const signOut = async () => {
    await endSession();
    setUser(null);
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: only once, when the page opens
  useEffect(() => void reload().catch(() => setUser(null)), []);

  const isSignedIn = Boolean(user);
  useEffect(() => {
    if (!isSignedIn) return;
    const refreshNow = () => refresh().catch((error) => isSignedOut(error) && setUser(null));
    refreshNow();
    const timer = setInterval(refreshNow, 3_600_000);
    return () => clearInterval(timer);
  }, [isSignedIn]);

  return <AccountContext value={{ user, reload, signOut }}>{children}</AccountContext>;
}

export function useAccount(): Account {
  const account = useContext(AccountContext);
  if (!account) throw new Error('useAccount requires an AccountProvider.');
  return account;
}
