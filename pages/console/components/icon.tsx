/** The shapes of the icons, in a square of 24 by 24, drawn with lines. */
const shapes = {
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM14 8h6V4h-6zM4 20h6v-3H4z',
  users:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M2.5 20c0-3.6 2.9-6 6.5-6s6.5 2.4 6.5 6M16 4.3a3.5 3.5 0 0 1 0 6.4M18 14.5c2.1.8 3.5 2.8 3.5 5.5',
  invitation: 'M3 6h18v12H3zM3 7l9 7 9-7',
  role: 'M12 3l8 3v6c0 4.5-3.2 7.6-8 9-4.8-1.4-8-4.5-8-9V6z',
  policy: 'M6 3h9l4 4v14H6zM15 3v4h4M9 12h7M9 16h5',
  application: 'M4 5h16v14H4zM4 9.5h16M7 7.3h.01M9.5 7.3h.01',
  activity: 'M3 12h4l3-8 4 16 3-8h4',
  email: 'M3 6h18v12H3zM3 7l9 7 9-7',
  settings:
    'M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6M19.4 13.5l1.6 1.2-2 3.4-1.9-.7a7.5 7.5 0 0 1-2 1.2L14.700 20.500h-4l-.4-1.900a7.500 7.500 0 0 1-2-1.200l-1.900.7-2-3.400 1.600-1.200a7.700 7.700 0 0 1 0-3L4.400 9.300l2-3.400 1.900.7a7.500 7.500 0 0 1 2-1.200l.4-1.900h4l.4 1.900a7.500 7.500 0 0 1 2 1.200l1.900-.7 2 3.400-1.600 1.200a7.700 7.700 0 0 1 0 3z',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14M20 20l-4-4',
  plus: 'M12 5v14M5 12h14',
  close: 'm6 6 12 12M18 6 6 18',
  check: 'm5 12.500 4.500 4.500L19 7.500',
  chevron: 'm9 6 6 6-6 6',
  down: 'm6 9 6 6 6-6',
  up: 'm6 15 6-6 6 6',
  back: 'm15 6-6 6 6 6',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  menu: 'M4 7h16M4 12h16M4 17h16',
  filter: 'M4 6h16M7 12h10M10 18h4',
  columns: 'M4 5h16v14H4zM9.300 5v14M14.700 5v14',
  download: 'M12 4v11m0 0 4-4m-4 4-4-4M5 20h14',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  trash: 'M5 7h14M10 11v6M14 11v6M6.500 7l1 13h9l1-13M9 7V4h6v3',
  edit: 'M4 20l1-4L16 5l3 3L8 19zM14 7l3 3',
  lock: 'M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 7 0v3',
  unlock: 'M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 6.700-1.500',
  key: 'M8 19a4.500 4.500 0 1 0 0-9 4.500 4.500 0 0 0 0 9M11.300 11.500 20 3M17 6l3 3M14.500 8.500l2.500 2.500',
  device: 'M4 5h16v11H4zM9 20h6M12 16v4',
  phone: 'M7 3h10v18H7zM11 18h2',
  shield: 'M12 3l8 3v6c0 4.500-3.200 7.600-8 9-4.800-1.400-8-4.500-8-9V6zM8.500 12l2.500 2.500 4.500-5',
  warning: 'M12 4 2.500 20h19zM12 10v4M12 17h.01',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 11v5M12 8h.01',
  refresh: 'M20 6v5h-5M4 18v-5h5M19 11a7.500 7.500 0 0 0-13-4M5 13a7.500 7.500 0 0 0 13 4',
  user: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4.500 20.500c0-4 3.400-6.500 7.500-6.500s7.500 2.500 7.500 6.500',
  link: 'M10 14a4 4 0 0 0 6 0l3-3a4.200 4.200 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4.200 4.200 0 0 0 6 6l1-1',
  signOut: 'M14 4H5v16h9M10 12h11m0 0-4-4m4 4-4 4',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 7v5l3.500 2',
  eye: 'M2.500 12C5 7.500 8.300 5.500 12 5.500s7 2 9.500 6.500c-2.500 4.500-5.800 6.500-9.500 6.500S5 16.500 2.500 12M12 14.800a2.800 2.800 0 1 0 0-5.600 2.800 2.800 0 0 0 0 5.600',
  bolt: 'M13 3 5 13.500h6L10 21l8.500-11H12z',
} as const;

export type IconName = keyof typeof shapes;

/** A picture beside a text. It is hidden from screen readers. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={shapes[name]} />
  </svg>
);
