import { find } from './dom.js';

/**
 * A button that asks for confirmation before an action that cannot be undone.
 * @param act performs the action; returns `false` after displaying why it failed
 */
export function confirmFirst(root: ParentNode, act: () => Promise<boolean>): void {
  const ask = find<HTMLButtonElement>('[data-ask]', root);
  const confirm = find('[data-confirm]', root);
  const no = find<HTMLButtonElement>('[data-no]', root);

  const showQuestion = (isShown: boolean) => {
    confirm.hidden = !isShown;
    ask.hidden = isShown;
    // Focus the harmless button, so that pressing a key twice does not confirm.
    (isShown ? no : ask).focus();
  };
  ask.addEventListener('click', () => showQuestion(true));
  no.addEventListener('click', () => showQuestion(false));
  confirm.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') showQuestion(false);
  });
  let isBusy = false;
  find('[data-yes]', root).addEventListener('click', async () => {
    if (isBusy) return;
    isBusy = true;
    confirm.setAttribute('aria-busy', 'true');
    const isDone = await act();
    isBusy = false;
    confirm.removeAttribute('aria-busy');
    if (!isDone) showQuestion(false);
  });
}
