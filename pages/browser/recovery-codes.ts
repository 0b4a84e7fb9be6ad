import { dialogNamed, openDialog } from './dialogs.js';
import { find } from './dom.js';
import { download } from './download.js';
import { text } from './texts.js';

/** Displays new recovery codes, which cannot be displayed again. @param done called when the user has saved them */
export function createCodeList(done: () => void): (codes: readonly string[]) => void {
  const list = find('[data-codes]');
  const status = find('[data-codes-copied]');
  let shown: readonly string[] = [];

  const show = (codes: readonly string[]) => {
    shown = codes;
    status.textContent = '';
    list.replaceChildren(
      ...codes.map((code) => {
        const item = document.createElement('li');
        item.append(Object.assign(document.createElement('code'), { textContent: code }));
        return item;
      }),
    );
  };

  const copy = find('[data-codes-copy]');
  // Browsers provide the clipboard only in secure contexts.
  copy.hidden = !navigator.clipboard;
  copy.addEventListener('click', async () => {
    await navigator.clipboard.writeText(shown.join('\n'));
    status.textContent = text('status_copied');
  });
  find('[data-codes-download]').addEventListener('click', () =>
    download('recovery-codes.txt', `${shown.join('\n')}\n`, 'text/plain'),
  );
  const dialog = dialogNamed('tfa-codes');
  // Escape must not discard codes that cannot be displayed again.
  dialog.addEventListener('cancel', (event) => event.preventDefault());
  find('[data-codes-done]').addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => {
    show([]);
    done();
  });
  return (codes) => {
    show(codes);
    openDialog('tfa-codes');
  };
}
