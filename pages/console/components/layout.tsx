import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { page } from '../page-data.js';
import { t } from '../texts.js';
import { Button } from './button.js';
import { Icon, type IconName } from './icon.js';

interface ScreenProps {
  title: string;
  /** What is in front of the title. */
  picture?: ComponentChildren;
  /** What is beside the title, such as a status. */
  aside?: ComponentChildren;
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  /** The screen above this one. */
  parent?: { href: string; text: string };
  /** Narrower, for text and forms. */
  isNarrow?: boolean;
  children: ComponentChildren;
}

/** A screen: its heading, its actions, and its content. The heading gets the focus when the screen is opened. */
export function Screen({ title, picture, aside, lead, actions, parent, isNarrow = false, children }: ScreenProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${page.project}`;
  }, [title]);
  useEffect(() => {
    // The first screen after loading the page leaves the focus where browsers put it.
    if (document.activeElement !== document.body || history.state?.isOpened)
      heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div class={`screen ${isNarrow ? 'is-narrow' : ''}`}>
      <header class="screen-top">
        {picture}
        <div class="screen-heading">
          {parent && (
            <Link href={parent.href} class="parent">
              <Icon name="back" />
              {parent.text}
            </Link>
          )}
          <div class="screen-title">
            <h1 ref={heading} tabIndex={-1}>
              {title}
            </h1>
            {aside}
          </div>
          {lead && <p class="screen-lead">{lead}</p>}
        </div>
        {actions && <div class="buttons">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface CardProps {
  title?: string;
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
  /** Whether the content reaches the edges, as a table does. */
  isFlush?: boolean;
}

export function Card({ title, lead, actions, children, isFlush = false }: CardProps) {
  const id = useId();
  return (
    <section class={`card ${isFlush ? 'is-flush' : ''}`} aria-labelledby={title === undefined ? undefined : id}>
      {title !== undefined && (
        <header class="card-top">
          <div>
            <h2 id={id}>{title}</h2>
            {lead && <p class="hint">{lead}</p>}
          </div>
          {actions && <div class="buttons">{actions}</div>}
        </header>
      )}
      <div class="card-body">{children}</div>
    </section>
  );
}

/** Names and values. */
export const Facts = ({ children }: { children: ComponentChildren }) => <dl class="facts">{children}</dl>;

export const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

interface EmptyProps {
  icon: IconName;
  title: string;
  /** What this place is for, and how to begin. */
  children?: ComponentChildren;
  action?: ComponentChildren;
}

/** What a list shows instead of nothing. */
export const Empty = ({ icon, title, children, action }: EmptyProps) => (
  <div class="empty-state">
    <span class="tile">
      <Icon name={icon} />
    </span>
    <h2>{title}</h2>
    {children && <p>{children}</p>}
    {action}
  </div>
);

interface TabsProps {
  label: string;
  tabs: readonly { href: string; text: string; isCurrent: boolean }[];
}

/** The parts of a screen, each with its own URL. */
export function Tabs({ label, tabs }: TabsProps) {
  const nav = useRef<HTMLElement>(null);
  const current = tabs.find(({ isCurrent }) => isCurrent)?.href;
  // On a phone, not all tabs fit.
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [current]);
  return (
    <nav class="tabs" aria-label={label} ref={nav}>
      {tabs.map(({ href, text, isCurrent }) => (
        <Link key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {text}
        </Link>
      ))}
    </nav>
  );
}

/** A value that users copy, such as an ID. */
export function Copyable({ value, label }: { value: string; label?: string }) {
  const [isCopied, setIsCopied] = useState(false);
  return (
    <span class="copyable">
      <code>{value}</code>
      <Button
        kind="quiet"
        icon={isCopied ? 'check' : 'copy'}
        label={isCopied ? t('copied') : t('copy_named', { name: label ?? value })}
        onPress={async () => {
          await navigator.clipboard.writeText(value);
          setIsCopied(true);
          setTimeout(() => setIsCopied(false), 2_000);
        }}
      />
    </span>
  );
}
