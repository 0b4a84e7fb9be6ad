import { agoText, dayText, timeText } from '../texts.js';

/** How long ago something happened. The exact time appears when the user points at it. */
export const Ago = ({ time, otherwise = '–' }: { time: string | null | undefined; otherwise?: string }) =>
  time ? (
    <time dateTime={time} title={timeText(time)}>
      {agoText(time)}
    </time>
  ) : (
    <span class="muted">{otherwise}</span>
  );

export const Time = ({ time, otherwise = '–' }: { time: string | null | undefined; otherwise?: string }) =>
  time ? <time dateTime={time}>{timeText(time)}</time> : <span class="muted">{otherwise}</span>;

export const Day = ({ time, otherwise = '–' }: { time: string | null | undefined; otherwise?: string }) =>
  time ? (
    <time dateTime={time} title={timeText(time)}>
      {dayText(time)}
    </time>
  ) : (
    <span class="muted">{otherwise}</span>
  );
