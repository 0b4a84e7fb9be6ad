import { useRef, useState } from 'preact/hooks';
import { useAccess } from '../../app/access.js';
import { Button } from '../../components/button.js';
import { TextField } from '../../components/field.js';
import { Form } from '../../components/form.js';
import { Tabs } from '../../components/layout.js';
import { Popover } from '../../components/popover.js';
import { toast } from '../../components/toast.js';
import { t } from '../../texts.js';

/** What a view determines. All of it is in the URL. */
export const viewParameters = ['q', 'filter', 'sort', 'columns'] as const;
export type ViewState = Partial<Record<(typeof viewParameters)[number] | 'density', string>>;

interface SavedView {
  name: string;
  state: ViewState;
}

const filters = {
  active: { status: { _eq: 'active' } },
  invited: { status: { _eq: 'invited' } },
  suspended: { status: { _eq: 'suspended' } },
  neverSignedIn: { last_access: { _null: true } },
  inactive: { last_access: { _lt: '$NOW(-1 year)' } },
};

const builtIn = (): { name: string; state: ViewState; fields: readonly string[] }[] => [
  { name: t('users_view_all'), state: {}, fields: [] },
  { name: t('users_view_active'), state: { filter: JSON.stringify(filters.active) }, fields: ['status'] },
  { name: t('users_view_invited'), state: { filter: JSON.stringify(filters.invited) }, fields: ['status'] },
  { name: t('users_view_suspended'), state: { filter: JSON.stringify(filters.suspended) }, fields: ['status'] },
  { name: t('users_view_never'), state: { filter: JSON.stringify(filters.neverSignedIn) }, fields: ['last_access'] },
  { name: t('users_view_inactive'), state: { filter: JSON.stringify(filters.inactive) }, fields: ['last_access'] },
];

const isSame = (a: ViewState, b: ViewState): boolean =>
  viewParameters.every((name) => (a[name] ?? '') === (b[name] ?? ''));

const hrefOf = (state: ViewState): string => {
  const entries = Object.entries(state).filter(([, value]) => value);
  return entries.length > 0 ? `/users?${new URLSearchParams(entries as [string, string][])}` : '/users';
};

/** The views that the user has saved in this browser. Each one is only a name for a URL, so it can be sent to others as a link. */
function useSavedViews(): [readonly SavedView[], (views: readonly SavedView[]) => void] {
  const { me } = useAccess();
  const key = `gatehouse-console-views-users-${me.id}`;
  const [views, setViews] = useState<readonly SavedView[]>(() => {
    try {
      const stored: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
      return Array.isArray(stored) ? (stored as SavedView[]).filter(({ name, state }) => name && state) : [];
    } catch {
      return [];
    }
  });
  return [
    views,
    (next) => {
      setViews(next);
      try {
        localStorage.setItem(key, JSON.stringify(next));
      } catch {
        // Some browsers forbid storage. The view then exists until the page is closed.
      }
    },
  ];
}

/** Named filters, with their sort order and columns. */
export function Views({ state }: { state: ViewState }) {
  const { canUse } = useAccess();
  const [saved, save] = useSavedViews();
  const [isNaming, setIsNaming] = useState(false);
  const button = useRef<HTMLSpanElement>(null);
  const { density = '' } = state;
  const own = Object.fromEntries(viewParameters.flatMap((name) => (state[name] ? [[name, state[name]]] : [])));
  const offered = builtIn().filter(({ fields }) => fields.every((field) => canUse('read', 'users', field)));
  const all = [...offered, ...saved];
  const current = all.find((view) => isSame(view.state, state));
  const currentSaved = saved.find((view) => view === current);
  return (
    <div class="views">
      <Tabs
        label={t('users_views')}
        tabs={all.map((view) => ({
          href: hrefOf({ ...view.state, density }),
          text: view.name,
          isCurrent: view === current,
        }))}
      />
      <span ref={button}>
        {!current && (
          <Button kind="quiet" icon="plus" expanded={isNaming} onPress={() => setIsNaming(!isNaming)}>
            {t('users_view_save')}
          </Button>
        )}
        {currentSaved && (
          <Button
            kind="quiet"
            icon="trash"
            label={t('users_view_remove', { name: currentSaved.name })}
            onPress={() => {
              save(saved.filter((view) => view !== currentSaved));
              toast(t('users_view_removed', { name: currentSaved.name }), { undo: async () => save(saved) });
            }}
          />
        )}
      </span>
      {isNaming && (
        <Popover label={t('users_view_save')} anchor={button} onClose={() => setIsNaming(false)}>
          <NameView
            onSave={(name) => {
              save([...saved.filter((view) => view.name !== name), { name, state: own }]);
              setIsNaming(false);
              toast(t('users_view_saved', { name }));
            }}
          />
        </Popover>
      )}
    </div>
  );
}

const maxName = 40;

function NameView({ onSave }: { onSave: (name: string) => void }) {
  const [name, setName] = useState('');
  return (
    <Form submit={t('save')} fields={[]} disabled={name.trim() === ''} onSubmit={async () => onSave(name.trim())}>
      {() => (
        <TextField
          label={t('users_view_name')}
          hint={t('users_view_hint')}
          value={name}
          maxLength={maxName}
          onInput={setName}
        />
      )}
    </Form>
  );
}
