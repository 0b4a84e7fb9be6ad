import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Link, useLocation, useRouter } from 'wouter-preact';
import { t } from '../texts.js';
import { Icon } from './icon.js';

export interface Column<T> {
  key: string;
  title: string;
  cell: (row: T) => ComponentChildren;
  /** The field to sort by. Without one, the column cannot be sorted. */
  sort?: string;
  /** Numbers and times are aligned at the end. */
  align?: 'end';
}

export interface Selection {
  isSelected: (key: string) => boolean;
  toggle: (keys: readonly string[], selected: boolean) => void;
}

interface Props<T> {
  /** What the rows are, for screen readers. */
  label: string;
  /** As long as this is the same array, cells must depend only on their rows: they are not drawn again otherwise. */
  columns: readonly Column<T>[];
  rows: readonly T[] | undefined;
  rowKey: (row: T) => string;
  /** What a row is called, for screen readers. */
  rowName: (row: T) => string;
  /** The screen of a row. The first column is a link to it, and clicking elsewhere in the row opens it as well. */
  href?: (row: T) => string;
  /** As in the query language: `-` in front reverses the order. */
  sort?: string;
  onSort?: (sort: string) => void;
  /** Whether the list can be sorted by the field of a column at the moment. Default: always. */
  canSortBy?: (field: string) => boolean;
  selection?: Selection;
  isLoading?: boolean;
  /** What to do when there are no rows. */
  empty: ComponentChildren;
  isCompact?: boolean;
}

const skeletonRows = 8;

/**
 * A table of items. The Tab key reaches its links and controls; the arrow keys move between the rows, Enter opens one, and Space selects
 * it.
 */
export function Table<T>(props: Props<T>) {
  const { label, columns, rows, rowKey, rowName, href, sort, onSort, canSortBy, selection, isLoading = false } = props;
  const [, navigate] = useLocation();
  const { base } = useRouter();
  const keys = (rows ?? []).map(rowKey);
  const marks = selection && keys.map(selection.isSelected);
  const isSome = marks?.includes(true) ?? false;
  const isAll = isSome && !marks?.includes(false);

  const moveTo = (row: Element | null | undefined) => row?.querySelector<HTMLElement>('a, button, input')?.focus();
  const onKeyDown = (event: KeyboardEvent) => {
    const { target } = event;
    const row = target instanceof Element ? target.closest('tr') : null;
    if (!row || (target instanceof HTMLInputElement && target.type !== 'checkbox')) return;
    if (event.key === 'ArrowDown') moveTo(row.nextElementSibling);
    else if (event.key === 'ArrowUp') moveTo(row.previousElementSibling);
    else return;
    event.preventDefault();
  };
  const onClick = (event: MouseEvent) => {
    const { target } = event;
    const isReading = !getSelection()?.isCollapsed;
    if (!href || isReading || !(target instanceof Element) || target.closest('a, button, input, label')) return;
    const row = rows?.find((row) => rowKey(row) === keyAt(target));
    if (row === undefined) return;
    if (event.metaKey || event.ctrlKey) open(`${base}${href(row)}`);
    else navigate(href(row));
  };
  const onChange = ({ target }: Event) => {
    const key = target instanceof HTMLInputElement && target.closest('.select-cell') ? keyAt(target) : undefined;
    if (key !== undefined) selection?.toggle([key], (target as HTMLInputElement).checked);
  };
  // Drawing the rows takes most of the time of a list, and most changes of a screen leave them as they are.
  const drawn = useMemo(
    () =>
      rows?.map((row, index) => (
        <Row
          key={rowKey(row)}
          rowKey={rowKey(row)}
          row={row}
          name={rowName(row)}
          columns={columns}
          href={href?.(row)}
          isSelected={marks?.[index]}
        />
      )),
    [rows, columns, marks?.join()],
  );

  if (rows?.length === 0 && !isLoading) return <>{props.empty}</>;
  return (
    <div class={`table-frame ${props.isCompact ? 'is-compact' : ''}`} aria-busy={isLoading}>
      <table>
        <caption class="visually-hidden">{label}</caption>
        <thead>
          <tr data-title={t('sort_by')}>
            {selection && (
              <th scope="col" class="select-cell">
                <input
                  type="checkbox"
                  aria-label={t('select_page')}
                  checked={isAll}
                  ref={(box) => {
                    if (box) box.indeterminate = isSome && !isAll;
                  }}
                  onChange={(event) => selection.toggle(keys, event.currentTarget.checked)}
                />
              </th>
            )}
            {columns.map((column) => (
              <Heading key={column.key} column={column} sort={sort} onSort={onSort} canSortBy={canSortBy} />
            ))}
          </tr>
        </thead>
        <tbody onKeyDown={onKeyDown} onClick={onClick} onChange={onChange}>
          {drawn ??
            Array.from({ length: skeletonRows }, (_, index) => (
              <tr key={index} class="skeleton-row">
                {selection && <td class="select-cell" />}
                {columns.map(({ key }) => (
                  <td key={key}>
                    <span class="bar" />
                  </td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps<T> extends Pick<Props<T>, 'columns'> {
  row: T;
  rowKey: string;
  name: string;
  href: string | undefined;
  /** Undefined: rows cannot be selected. */
  isSelected: boolean | undefined;
}

function Row<T>({ row, rowKey, name, columns, href, isSelected }: RowProps<T>) {
  return (
    <tr data-row={rowKey} class={href === undefined ? '' : 'is-link'} aria-selected={isSelected}>
      {isSelected !== undefined && (
        <td class="select-cell">
          <input type="checkbox" aria-label={t('select_named', { name })} checked={isSelected} />
        </td>
      )}
      {columns.map((column, index) => (
        <td
          key={column.key}
          class={`${index === 0 ? 'is-main' : ''} ${column.align === 'end' ? 'is-end' : ''}`}
          data-title={index === 0 ? undefined : column.title}
        >
          {index === 0 && href !== undefined ? <Link href={href}>{column.cell(row)}</Link> : column.cell(row)}
        </td>
      ))}
    </tr>
  );
}

interface HeadingProps<T> {
  column: Column<T>;
  sort: string | undefined;
  onSort: Props<T>['onSort'];
  canSortBy: Props<T>['canSortBy'];
}

function Heading<T>({ column, sort, onSort, canSortBy }: HeadingProps<T>) {
  const isSorted = column.sort !== undefined && sort?.replace(/^-/, '') === column.sort;
  const isDescending = isSorted && sort?.startsWith('-');
  const order = isSorted ? (isDescending ? 'descending' : 'ascending') : undefined;
  const className = column.align === 'end' ? 'is-end' : '';
  if (column.sort === undefined || !onSort || canSortBy?.(column.sort) === false)
    return (
      <th scope="col" class={className}>
        {column.title}
      </th>
    );
  return (
    <th scope="col" class={className} aria-sort={order}>
      <button type="button" onClick={() => onSort(isSorted && !isDescending ? `-${column.sort}` : (column.sort ?? ''))}>
        {column.title}
        <span class={`sort-mark ${isSorted ? '' : 'is-faint'}`}>
          <Icon name={isDescending ? 'down' : 'up'} />
        </span>
      </button>
    </th>
  );
}

const rowLink = (row: Element | null | undefined): HTMLElement | null | undefined =>
  row?.querySelector<HTMLElement>('td a') ?? row?.querySelector<HTMLElement>('button, input');

const keyAt = (element: Element): string | undefined => element.closest('tr')?.dataset.row;

const focusedRow = (): Element | null | undefined => document.activeElement?.closest('[data-row]');

/** Moves the focus to the next or previous row of the table on the screen, or to its first one. */
export function moveRow(direction: 1 | -1): void {
  const row = focusedRow();
  const next = direction === 1 ? row?.nextElementSibling : row?.previousElementSibling;
  (row ? rowLink(next) : rowLink(document.querySelector('[data-row]')))?.focus();
}

/** The key of the row that has the focus. */
export const focusedKey = (): string | undefined => focusedRow()?.getAttribute('data-row') ?? undefined;

interface PagerProps {
  number: number;
  next: (() => void) | undefined;
  previous: (() => void) | undefined;
  /** What is known about the number of items. */
  note?: ComponentChildren;
}

/** The controls below a list that is read page by page. */
export function Pager({ number, next, previous, note }: PagerProps) {
  if (!next && !previous && note === undefined) return null;
  const turn = (to: () => void) => {
    to();
    scrollTo(0, 0);
  };
  return (
    <nav class="pager" aria-label={t('pages')}>
      <span class="pager-note">{note}</span>
      <button type="button" class="secondary small" disabled={!previous} onClick={() => previous && turn(previous)}>
        {t('previous')}
      </button>
      <span aria-current="page">{t('page_number', { number })}</span>
      <button type="button" class="secondary small" disabled={!next} onClick={() => next && turn(next)}>
        {t('next')}
      </button>
    </nav>
  );
}
