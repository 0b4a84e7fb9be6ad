import type { ComponentChildren } from 'preact';
import { choiceText } from '../texts.js';

export type Tone = 'neutral' | 'good' | 'warning' | 'bad' | 'accent';

/** A short state. Its color only repeats what the text says. */
export const Badge = ({ tone = 'neutral', children }: { tone?: Tone; children: ComponentChildren }) => (
  <span class={`badge tone-${tone}`}>{children}</span>
);

const tones: Readonly<Record<string, Tone>> = {
  active: 'good',
  sent: 'good',
  invited: 'accent',
  waiting: 'accent',
  unverified: 'warning',
  draft: 'neutral',
  archived: 'neutral',
  dropped: 'warning',
  suspended: 'bad',
  failed: 'bad',
};

/** The status of a user or an email. */
export const StatusBadge = ({ status }: { status: string | null | undefined }) =>
  status ? <Badge tone={tones[status] ?? 'neutral'}>{choiceText(status)}</Badge> : <>–</>;
