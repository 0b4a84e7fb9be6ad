import { useState } from 'preact/hooks';
import { useAccess } from '../../app/access.js';
import { Button } from '../../components/button.js';
import { Menu } from '../../components/menu.js';
import { t, tn } from '../../texts.js';
import type { BulkAction } from './bulk.js';
import { BulkDialog } from './bulk-dialog.js';
import type { Count } from './count.js';
import type { Selected } from './selection.js';

interface Props {
  selected: Selected;
  /** How many users match the query of the list. */
  count: Count;
  selectAll: () => void;
  clear: () => void;
}

/** How many users are selected, and what can be done with them. */
export function SelectionBar({ selected, count, selectAll, clear }: Props) {
  const { can, canUse } = useAccess();
  const [action, setAction] = useState<BulkAction | { kind: 'role' }>();
  const mayChangeStatus = canUse('update', 'users', 'status');
  return (
    <>
      <section class="selection-bar" aria-label={t('users_selection')}>
        <strong role="status">{selectedText(selected, count)}</strong>
        {selected.kind === 'some' &&
          count !== undefined &&
          (typeof count !== 'number' || count > selected.ids.size) && (
            <Button onPress={selectAll}>
              {typeof count === 'number' ? tn('users_select_all', count) : t('users_select_all_many')}
            </Button>
          )}
        <span class="selection-actions">
          {canUse('update', 'users', 'role') && can('read', 'roles') && (
            <Button icon="role" onPress={() => setAction({ kind: 'role' })}>
              {t('bulk_role')}
            </Button>
          )}
          {mayChangeStatus && (
            <Menu
              label={t('bulk_status')}
              isLabelShown
              icon="down"
              items={[
                {
                  text: t('bulk_activate'),
                  icon: 'check',
                  onSelect: () => setAction({ kind: 'status', status: 'active' }),
                },
                {
                  text: t('bulk_suspend'),
                  icon: 'lock',
                  onSelect: () => setAction({ kind: 'status', status: 'suspended' }),
                },
                {
                  text: t('bulk_archive'),
                  icon: 'download',
                  onSelect: () => setAction({ kind: 'status', status: 'archived' }),
                },
              ]}
            />
          )}
          {can('delete', 'users') && (
            <Button icon="trash" class="is-dangerous" onPress={() => setAction({ kind: 'delete' })}>
              {t('bulk_delete')}
            </Button>
          )}
          <Button kind="quiet" icon="close" label={t('users_select_none')} onPress={clear} />
        </span>
      </section>
      {action && <BulkDialog action={action} selected={selected} onClose={() => setAction(undefined)} onDone={clear} />}
    </>
  );
}

function selectedText(selected: Selected, count: Count): string {
  if (selected.kind === 'some') return tn('users_selected', selected.ids.size);
  if (typeof count === 'number') return tn('users_selected', count - selected.without.size);
  return count === undefined ? t('users_selected_all') : tn('users_selected_more', count.moreThan);
}
