import type { ComponentChildren } from 'preact';
import type { User } from '../../api/types.js';
import type { Access } from '../../app/access.js';
import { Badge, StatusBadge } from '../../components/badge.js';
import { PersonCell } from '../../components/person.js';
import type { Column } from '../../components/table.js';
import { Ago } from '../../components/time.js';
import { type Collection, type Field, fieldOf, fieldsOf } from '../../model/fields.js';
import { choiceText, fieldText, t } from '../../texts.js';

export type Row = Omit<User, 'id'> & { id: string };

/** What the first column shows. */
const nameFields = ['first_name', 'last_name', 'email', 'avatar'];
/** What the list shows unless the user chooses other columns. */
export const usualColumns = ['status', 'role', 'last_access'];
/** What no list shows: secrets, what the first column shows, and what only the screen of a user shows. */
const hidden = new Set([
  'id',
  'first_name',
  'last_name',
  'avatar',
  'token',
  'auth_data',
  'has_password',
  'last_failure',
]);
/** The API returns it only by name, and never in an export. */
const lock = 'locked_until';

/** The columns that the user can choose from, in the order of the API. */
export const columnFields = ({ canUse }: Access): readonly Field[] =>
  fieldsOf('users').filter(({ name }) => !hidden.has(name) && canUse('read', 'users', name));

/** The columns in the URL, without those that the user may not read, or that do not exist. */
export function columnNames(access: Access, chosen: string | undefined): string[] {
  const available = new Set(columnFields(access).map(({ name }) => name));
  return (chosen === undefined ? usualColumns : chosen.split(',')).filter((name) => available.has(name));
}

const nameOfItem = (item: unknown): string => {
  if (typeof item !== 'object' || item === null) return String(item);
  const { name, id } = item as { name?: string; id?: string };
  return name ?? id ?? '';
};

/** The field to request for a column: of related items, the name if the caller may read it. */
function requested({ canUse }: Access, { name, collection }: Field): string[] {
  if (collection === undefined) return [name];
  return canUse('read', collection as Collection, 'name') ? [`${name}.id`, `${name}.name`] : [name];
}

const requestedFields = (access: Access, names: readonly string[]): string[] => [
  'id',
  ...nameFields.filter((name) => access.canUse('read', 'users', name) && !names.includes(name)),
  ...names.flatMap((name) => requested(access, fieldOf('users', name) as Field)),
];

/** The fields to request for the list. The column of the status also says whether the user is locked out. */
export const listedFields = (access: Access, names: readonly string[]): string[] => {
  const addsLock = names.includes('status') && !names.includes(lock);
  return requestedFields(access, addsLock ? [...names, lock] : names);
};

export const exportedFields = (access: Access, names: readonly string[]): string[] =>
  requestedFields(
    access,
    names.filter((name) => name !== lock),
  );

const nothing = <span class="muted">–</span>;

function cell({ name, type }: Field, row: Row): ComponentChildren {
  const value = (row as Record<string, unknown>)[name];
  if (name === 'status')
    return (
      <>
        <StatusBadge status={row.status} />
        {row.locked_until && (
          <>
            {' '}
            <Badge tone="bad">{t('user_locked')}</Badge>
          </>
        )}
      </>
    );
  if (type === 'time')
    return <Ago time={value as string | null} otherwise={name === 'last_access' ? t('never') : '–'} />;
  if (value === null || value === undefined || value === '') return nothing;
  if (type === 'boolean') return value ? t('yes') : t('no');
  if (type === 'choice') return choiceText(String(value));
  if (type === 'relation') return nameOfItem(value);
  if (type === 'relations' || type === 'list') {
    const items = (value as unknown[]).map(nameOfItem);
    return items.length === 0 ? (
      nothing
    ) : (
      <span class="cell-list">
        {items.map((item) => (
          <Badge key={item}>{item}</Badge>
        ))}
      </span>
    );
  }
  const text = type === 'json' ? JSON.stringify(value) : String(value);
  return (
    <span class="cell-text" title={text}>
      {text}
    </span>
  );
}

/** What a list of many users can be sorted by, because it is indexed. */
export const indexed = new Set(['last_access', 'role']);

export function columnsOf({ canUse }: Access, names: readonly string[]): Column<Row>[] {
  const sortOfName = ['last_name', 'email'].find((name) => canUse('read', 'users', name));
  return [
    {
      key: 'name',
      title: t('users_name'),
      ...(sortOfName === undefined ? {} : { sort: sortOfName }),
      cell: (user) => <PersonCell person={user} id={user.id} />,
    },
    ...names.map((name): Column<Row> => {
      const field = fieldOf('users', name) as Field;
      const isSortable = field.filter !== undefined && field.filter !== 'json' && field.filter !== 'items';
      return {
        key: name,
        title: fieldText(name),
        ...(isSortable ? { sort: name } : {}),
        cell: (user) => cell(field, user),
      };
    }),
  ];
}
