import { callAnonymously } from './api.js';
import { find } from './dom.js';
import { handleForm } from './form.js';
import { page } from './page-data.js';
import { showPart } from './parts.js';
import { text } from './texts.js';

/** The API answers alike whether an account was made or not, so the page says what comes next in either case. */
export function startRegister(): void {
  if (!document.getElementById('register')) return;
  handleForm('#register', 'register', async ({ email = '', password, first_name, last_name }, { element }) => {
    const names = { ...(first_name ? { first_name } : {}), ...(last_name ? { last_name } : {}) };
    await callAnonymously('POST', '/users/register', { email, password, ...names });
    element.reset();
    const variant = page.verifiesEmail ? 'mail' : 'direct';
    const part = find('[data-part=done]');
    find('[data-title]', part).textContent = text(`status_register_${variant}_title`);
    find('[data-hint]', part).textContent = text(`status_register_${variant}_hint`);
    showPart('done', text(`status_register_${variant}`, { email }));
  });
}
