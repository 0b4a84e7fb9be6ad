import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import { callSignedIn, codeOf, signOut as endSession } from './gatehouse';

export interface User {
  id: string;
  email: string | null;
  first_name: string | null;
}

interface Account {
  /** `undefined` until it is known, and `null` if no user is signed in. */
  user: User | null | undefined;
  /** Why it is not known, if it could not be read. */
  error: unknown;
  /** Reads the user again, such as after a login. */
  reload(): Promise<void>;
  signOut(): Promise<void>;
}

const AccountContext = createContext<Account | null>(null);

/** Provides the signed-in user to all components inside it. */
export function AccountProvider({ children }: { children: ReactNode }) {
  const [user, setUser] = useState<User | null>();
  const [error, setError] = useState<unknown>();

  const reload = useCallback(async () => {
    setError(undefined);
    try {
      setUser(await callSignedIn<User>('/users/me/profile'));
    } catch (error) {
      if (codeOf(error) === 'SIGNED_OUT') setUser(null);
      else setError(error);
    }
  }, []);
  const signOut = useCallback(async () => {
    await endSession();
    setUser(null);
  }, []);
  useEffect(() => void reload(), [reload]);

  const account = useMemo(() => ({ user, error, reload, signOut }), [user, error, reload, signOut]);
  return <AccountContext value={account}>{children}</AccountContext>;
}

export function useAccount(): Account {
  const account = useContext(AccountContext);
  if (!account) throw new Error('useAccount requires an AccountProvider.');
  return account;
}
