import { setTimeout as sleep } from 'node:timers/promises';
import PostalMime from 'postal-mime';
import type { Test } from 'tap';
import { findLink } from '../mail/mails.js';
import { startSmtp } from '../mail/smtp.js';
import { freePort } from '../servers/ports.js';

/** The emails of all users, received by an SMTP server of the test. */
export interface ReceivedMails {
  /** The variables that make a service send its emails to this server. */
  variables: Record<string, string>;
  /**
   * Returns the token from an email to this address, each token once. Returns undefined if none arrives within
   * `timeoutMs`.
   */
  takeToken(address: string, timeoutMs: number): Promise<string | undefined>;
  /** Stops the server. Emails have to wait until it is started again. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export async function startLetters(t: Test): Promise<ReceivedMails> {
  const port = await freePort();
  /** The server, and those that it replaced. */
  const servers = [await startSmtp(t, port)];
  const tokens = new Map<string, string>();
  let read = 0;

  const readOn = async () => {
    const mails = servers.flatMap((server) => server.mails);
    while (read < mails.length) {
      const { raw = '', to = [] } = mails[read++] ?? {};
      const { text = '' } = await PostalMime.parse(raw);
      const link = findLink({ text });
      // A notice about a change has no link.
      if (link) tokens.set(to[0] ?? '', new URL(link).searchParams.get('token') ?? '');
    }
  };

  return {
    variables: {
      EMAIL_TRANSPORT: 'smtp',
      EMAIL_SMTP_HOST: '127.0.0.1',
      EMAIL_SMTP_PORT: String(port),
      EMAIL_RETRY_DELAY: '1s',
    },
    stop: async () => servers.at(-1)?.close(),
    start: async () => void servers.push(await startSmtp(t, port)),
    takeToken: async (address, timeoutMs) => {
      for (const end = performance.now() + timeoutMs; ; await sleep(20)) {
        await readOn();
        const token = tokens.get(address);
        tokens.delete(address);
        if (token !== undefined || performance.now() >= end) return token;
      }
    },
  };
}
