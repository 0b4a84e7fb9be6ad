import { dialogNamed, openDialog } from '../kit/dialogs.js';
import { find } from '../kit/dom.js';
import { text } from '../kit/texts.js';
import { download } from './download.js';

/**
 * Displays new recovery codes, which cannot be displayed again. The dialog closes only after the user has saved them, or says so.
 * @param done called when the dialog closes
 * @returns a function that opens the dialog; `news` says what has happened before
 */
export function createCodeList(done: () => void): (codes: readonly string[], news: string) => void {
  const list = find('[data-codes]');
  const status = find('[data-codes-copied]');
  const saved = find<HTMLInputElement>('[data-codes-saved]');
  const close = find<HTMLButtonElement>('[data-codes-done]');
  let shown: readonly string[] = [];

  const show = (codes: readonly string[]) => {
    shown = codes;
    status.textContent = '';
    setSaved(false);
    list.replaceChildren(
      ...codes.map((code) => {
        const item = document.createElement('li');
        item.append(Object.assign(document.createElement('code'), { textContent: code }));
        return item;
      }),
    );
  };

  const setSaved = (isSaved: boolean) => {
    saved.checked = isSaved;
    close.disabled = !isSaved;
  };
  saved.addEventListener('change', () => setSaved(saved.checked));

  const copy = find('[data-codes-copy]');
  // Browsers provide the clipboard only in secure contexts.
  copy.hidden = !navigator.clipboard;
  copy.addEventListener('click', async () => {
    await navigator.clipboard.writeText(shown.join('\n'));
    status.textContent = text('status_copied');
    setSaved(true);
  });
  find('[data-codes-download]').addEventListener('click', () => {
    download('recovery-codes.txt', `${shown.join('\n')}\n`, 'text/plain');
    setSaved(true);
  });
  // The browser does not reveal whether the user has printed the page, so this does not confirm anything.
  find('[data-codes-print]').addEventListener('click', () => print());
  const dialog = dialogNamed('tfa-codes');
  // Escape must not discard codes that cannot be displayed again.
  dialog.addEventListener('cancel', (event) => event.preventDefault());
  close.addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => {
    show([]);
    done();
  });
  return (codes, news) => {
    show(codes);
    find('[data-codes-news]').textContent = news;
    openDialog('tfa-codes');
  };
}
