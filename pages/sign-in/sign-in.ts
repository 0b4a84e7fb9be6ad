import { callWithCookie } from '../kit/api.js';
import { ApiFailure } from '../kit/api-failure.js';
import { codeOf } from '../kit/code-field.js';
import { find, leaveTo, withQuery } from '../kit/dom.js';
import { type FormControl, handleForm } from '../kit/form.js';
import { rememberPasswordLogin } from '../kit/password-login.js';
import { handOverEmail } from './handed-email.js';
import { rememberWay } from './last-way.js';
import { page } from './page-data.js';
import { showPart } from './parts.js';

let codeForm: FormControl | undefined;
/** Completes the login that is waiting for a code. */
let submitCode: (otp: string) => Promise<void>;

/**
 * Signs the user in, and asks for a code if the account requires one.
 * @param login called again with the code
 * @param handleFailure displays certain failures outside the form and returns true for them; returns false for all others
 * @throws {ApiFailure} if the login without a code failed
 */
export async function signIn(
  login: (otp?: string) => Promise<unknown>,
  to: string,
  handleFailure: (failure: unknown) => boolean = () => false,
): Promise<void> {
  const attempt = async (otp?: string) => {
    try {
      await login(otp);
    } catch (failure) {
      if (handleFailure(failure)) return;
      throw failure;
    }
    await leaveTo(to);
  };
  try {
    await attempt();
  } catch (failure) {
    if (!(failure instanceof ApiFailure) || failure.code !== 'INVALID_OTP') throw failure;
    submitCode = attempt;
    codeForm ??= handleForm('#code', 'login', (values) => submitCode(codeOf(values)));
    showPart('code');
    codeForm.clear();
    find('#code [name=otp]').focus();
  }
}

/**
 * Signs the user in with the password that they have just chosen. If that is not possible, the sign-in page opens with the address
 * filled in.
 */
export async function signInWith(email: string, password: string, to = page.links.account): Promise<void> {
  const goToLogin = () => {
    handOverEmail(email);
    return leaveTo(withQuery(page.links.login, { redirect: to }));
  };
  if (!email || !page.offers.passwordLogin) return goToLogin();
  const login = async (otp?: string) => {
    await callWithCookie('POST', '/auth/login', { email, password, mode: 'session', ...(otp ? { otp } : {}) });
    rememberPasswordLogin();
    rememberWay('password');
  };
  await signIn(login, to).catch(goToLogin);
}
