import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { useUserSearch } from '../api/use-user-search.js';
import { Combobox } from '../components/combobox.js';
import { Dialog } from '../components/dialog.js';
import { Icon, type IconName } from '../components/icon.js';
import { nameOf } from '../components/person.js';
import { useLater } from '../components/picker.js';
import { t } from '../texts.js';
import { useAccess } from './access.js';
import { commands } from './commands.js';
import { screens } from './screens.js';

interface Command {
  key: string;
  text: string;
  detail?: string | undefined;
  icon: IconName;
  href: string;
}

const maxUsers = 8;
let openPalette: () => void = () => {};

export const showPalette = (): void => openPalette();

/** The command palette: screens, forms, and users found by the server. */
export function Palette() {
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => {
    openPalette = () => setIsOpen(true);
  }, []);
  return isOpen ? <OpenPalette close={() => setIsOpen(false)} /> : null;
}

function OpenPalette({ close }: { close: () => void }) {
  const access = useAccess();
  const [, navigate] = useLocation();
  const [search, setSearch] = useState('');
  const wanted = useLater(search.trim());
  const searches = wanted.length > 1 && access.can('read', 'users');
  const { data = [], isLoading } = useUserSearch(searches ? wanted : undefined, maxUsers);
  const isMatching = ({ text }: Command) => text.toLowerCase().includes(search.trim().toLowerCase());
  const places: Command[] = screens
    .filter(({ isOpenTo }) => isOpenTo(access))
    .flatMap(({ entry, paths }) =>
      entry ? [{ key: paths[0], text: t(entry.text), icon: entry.icon, href: paths[0], detail: `g ${entry.key}` }] : [],
    )
    .filter(isMatching);
  const forms: Command[] = commands
    .filter(({ isOpenTo }) => isOpenTo(access))
    .map(({ text, icon, href }) => ({ key: href, text: t(text), icon, href }))
    .filter(isMatching);
  const users: Command[] = searches
    ? data.map((user) => ({
        key: user.id ?? '',
        text: nameOf(user, user.id),
        detail: user.email ?? undefined,
        icon: 'user',
        href: `/users/${user.id}`,
      }))
    : [];
  if (users.length === maxUsers && !isLoading)
    users.push({
      key: 'all users',
      text: t('search_all_users', { search: wanted }),
      icon: 'search',
      href: `/users?${new URLSearchParams({ q: wanted })}`,
    });
  return (
    <Dialog title={t('palette_title')} onClose={close} size="large" isAtTop>
      <Combobox
        label={t('palette_label')}
        isLabelHidden
        placeholder={t('palette_placeholder')}
        search={search}
        onSearch={setSearch}
        options={[...places, ...forms, ...users]}
        isLoading={isLoading || wanted !== search.trim()}
        optionKey={({ key }) => key}
        draw={({ text, detail, icon }) => (
          <>
            <Icon name={icon} />
            <span>{text}</span>
            {detail && <span class="hint">{detail}</span>}
          </>
        )}
        onPick={({ href }) => {
          close();
          navigate(href);
        }}
        nothing={t('search_nothing')}
        isOpen
        autofocus
      />
    </Dialog>
  );
}
