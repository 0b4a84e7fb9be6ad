import type { App } from '../app.js';
import { listMails } from './list-mails.js';
import { retryMail } from './retry-mail.js';

export async function mailsRoutes(app: App): Promise<void> {
  listMails(app);
  retryMail(app);
}
