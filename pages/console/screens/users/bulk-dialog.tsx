import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiFailure } from '../../../kit/api-failure.js';
import { changed } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { Button } from '../../components/button.js';
import { Dialog } from '../../components/dialog.js';
import { Failure } from '../../components/failure.js';
import { CheckField } from '../../components/field.js';
import { Picker } from '../../components/picker.js';
import { actions } from '../../components/rules/rule.js';
import { Verdicts } from '../../components/rules/verdict.js';
import { toast } from '../../components/toast.js';
import { choiceText, numberText, t, tn } from '../../texts.js';
import {
  type BulkAction,
  chunksOf,
  isUnchanged,
  type Member,
  maxMembers,
  maxSeparated,
  perform,
  type Refused,
  readMembers,
  remaining,
  sendLinks,
  undo,
} from './bulk.js';
import type { Selected } from './selection.js';

interface Props {
  /** Without a role, the dialog asks for one first. */
  action: BulkAction | { kind: 'role'; role?: undefined };
  selected: Selected;
  onClose: () => void;
  /** The users have been changed. */
  onDone: () => void;
}

/** Changes or deletes many users: tries it first, says what will happen, and then reports what has happened. */
export function BulkDialog({ action, ...props }: Props) {
  const [role, setRole] = useState<{ id: string; name: string }>();
  const [chosen, setChosen] = useState<BulkAction | undefined>(
    action.kind === 'role' && action.role === undefined ? undefined : (action as BulkAction),
  );
  if (chosen) return <Confirmation {...props} action={chosen} />;
  return (
    <Dialog title={t('bulk_role_title')} lead={t('bulk_role_lead')} onClose={props.onClose}>
      <Picker kind="roles" label={t('bulk_role_label')} value={role} onChange={setRole} />
      <div class="buttons">
        <Button class="buttons-start" onPress={() => setChosen({ kind: 'role', role: null })}>
          {t('bulk_role_none')}
        </Button>
        <Button onPress={props.onClose}>{t('cancel')}</Button>
        <Button kind="primary" disabled={!role} onPress={() => role && setChosen({ kind: 'role', role })}>
          {t('continue')}
        </Button>
      </div>
    </Dialog>
  );
}

interface Checked {
  /** Whom the action will change. */
  members: Member[];
  unchanged: number;
  refused: Refused[];
}

type Stage = 'checking' | 'review' | 'running' | 'stopped' | 'links' | 'done';

/** How many users without a password can get a link at a time. */
const maxLinks = 100;
/** How many changes can be undone at a time. */
const maxUndo = 1_000;

function Confirmation({ action, selected, onClose, onDone }: Props & { action: BulkAction }) {
  const { me, canUse } = useAccess();
  const [stage, setStage] = useState<Stage>('checking');
  const [read, setRead] = useState(0);
  const [checked, setChecked] = useState<Checked>({ members: [], unchanged: 0, refused: [] });
  const [isTooMany, setIsTooMany] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const [done, setDone] = useState<{ members: Member[]; refused: Refused[] }>({ members: [], refused: [] });
  const [sendsLinks, setSendsLinks] = useState(true);
  const [links, setLinks] = useState({ sent: 0, wanted: 0 });
  const isClosed = useRef(false);
  const hasStopped = useRef(false);

  const fields = [
    'id',
    ...['first_name', 'last_name', 'email', 'status', 'provider'].filter((name) => canUse('read', 'users', name)),
    ...(canUse('read', 'users', 'role') ? (canUse('read', 'roles', 'name') ? ['role.id', 'role.name'] : ['role']) : []),
    ...(action.kind === 'status' && action.status === 'active' && canUse('read', 'users', 'has_password')
      ? ['has_password']
      : []),
  ];

  const check = async () => {
    const found: Checked = { members: [], unchanged: 0, refused: [] };
    for await (const part of readMembers(selected, action, fields)) {
      if (isClosed.current) return;
      const isOwn = ({ id }: Member) => id === me.id && action.kind !== 'role';
      const candidates = part.filter((member) => !isOwn(member) && !isUnchanged(action, member));
      const own = part.filter(isOwn).map((member) => ({ member, reason: t('bulk_own') }));
      const separable = maxSeparated - found.refused.length;
      const refused = [...own, ...(await perform(action, candidates, { isDryRun: true, separable }))];
      const ids = new Set(refused.map(({ member }) => member.id));
      found.refused.push(...refused);
      found.members.push(...candidates.filter(({ id }) => !ids.has(id)));
      found.unchanged += part.length - candidates.length - own.length;
      setRead((count) => count + part.length);
      if (found.members.length + found.refused.length >= maxMembers) {
        setIsTooMany(true);
        break;
      }
    }
    setChecked(found);
    setStage('review');
  };
  const report = (error: unknown) => {
    if (!(error instanceof ApiFailure)) console.error(error);
    setFailure(error);
  };
  const start = () => {
    setFailure(undefined);
    setRead(0);
    setStage('checking');
    check().catch(report);
  };
  useEffect(() => {
    start();
    return () => {
      isClosed.current = true;
    };
  }, []);

  const receivers = action.kind === 'status' && action.status === 'active' ? withoutPassword(checked.members) : [];
  const offersLinks = receivers.length > 0 && receivers.length <= maxLinks;

  const run = async () => {
    setFailure(undefined);
    setStage('running');
    hasStopped.current = false;
    const isResumed = failure !== undefined;
    let { members, refused } = done;
    const handled = new Set([...members, ...refused.map(({ member }) => member)].map(({ id }) => id));
    const left = chunksOf(checked.members.filter(({ id }) => !handled.has(id)));
    try {
      for (const [index, chunk] of left.entries()) {
        if (hasStopped.current) break;
        // After a failure, it is not known whether the request was carried out. What has been deleted cannot be deleted again.
        const existing = isResumed && index === 0 && action.kind === 'delete' ? await remaining(chunk) : chunk;
        const separable = maxSeparated - refused.length;
        const failed = await perform(action, existing, { isDryRun: false, separable });
        const ids = new Set(failed.map(({ member }) => member.id));
        members = [...members, ...chunk.filter(({ id }) => !ids.has(id))];
        refused = [...refused, ...failed];
        setDone({ members, refused });
      }
    } catch (error) {
      report(error);
      setStage('stopped');
      void changed('users');
      return;
    }
    void changed('users');
    if (hasStopped.current) return setStage('stopped');
    await finish(members, refused);
  };

  /** Closes the dialog after the change. The selection has served its purpose. */
  const leave = () => {
    onDone();
    onClose();
  };

  const finish = async (members: readonly Member[], refused: readonly Refused[]) => {
    const receivers = offersLinks && sendsLinks ? withoutPassword(members) : [];
    let count = 0;
    if (receivers.length > 0) {
      setStage('links');
      const onSent = () => {
        count += 1;
        setLinks({ sent: count, wanted: receivers.length });
      };
      setLinks({ sent: 0, wanted: receivers.length });
      await sendLinks(receivers, { onSent, isStopped: () => hasStopped.current }).catch(report);
    }
    toast(doneText(action, members.length), {
      ...(action.kind !== 'delete' && members.length <= maxUndo && members.every(({ before }) => before !== undefined)
        ? {
            undo: async () => {
              await undo(action, members);
              await changed('users');
            },
          }
        : {}),
    });
    if (refused.length > 0 || count < receivers.length) setStage('done');
    else leave();
  };

  const total = checked.members.length;
  const isBusy = stage === 'running' || stage === 'links';
  const close = () => {
    if (isBusy) hasStopped.current = true;
    else if (stage === 'done') leave();
    else onClose();
  };
  return (
    <Dialog title={titleOf(action)} size="large" onClose={close}>
      <Failure failure={failure} {...(stage === 'checking' ? { retry: start } : {})} />
      {stage === 'checking' && failure === undefined && (
        <Progress label={tn('bulk_checking', read)} value={undefined} max={1} />
      )}
      {stage === 'review' && (
        <>
          {isTooMany && <p class="notice notice-info">{t('bulk_too_many', { count: numberText(maxMembers) })}</p>}
          <Review action={action} checked={checked} />
          {offersLinks && (
            <CheckField
              label={tn('bulk_no_password', receivers.length)}
              hint={t('bulk_no_password_hint')}
              checked={sendsLinks}
              onChange={setSendsLinks}
            />
          )}
          {receivers.length > maxLinks && (
            <p class="notice notice-info">{tn('bulk_no_password_many', receivers.length)}</p>
          )}
        </>
      )}
      {(stage === 'running' || stage === 'stopped') && (
        <Progress
          label={t('bulk_progress', {
            done: numberText(done.members.length + done.refused.length),
            total: numberText(total),
          })}
          value={done.members.length + done.refused.length}
          max={total}
        />
      )}
      {stage === 'links' && (
        <Progress label={tn('bulk_links_sent', links.sent)} value={links.sent} max={links.wanted} />
      )}
      {stage === 'done' && (
        <>
          <p>{doneText(action, done.members.length)}</p>
          {links.sent < links.wanted && <p>{tn('bulk_links_some', links.wanted, { sent: numberText(links.sent) })}</p>}
          {done.refused.length > 0 && (
            <RefusedList title={tn('bulk_failed', done.refused.length)} refused={done.refused} />
          )}
        </>
      )}
      <div class="buttons">
        {stage !== 'done' && !isBusy && (
          <button type="button" class="secondary small" autofocus onClick={onClose}>
            {t(stage === 'stopped' ? 'close' : 'cancel')}
          </button>
        )}
        {isBusy && (
          <Button
            onPress={() => {
              hasStopped.current = true;
            }}
          >
            {t('bulk_stop')}
          </Button>
        )}
        {stage === 'review' && (
          <Button
            kind={action.kind === 'delete' || isHarmful(action) ? 'danger' : 'primary'}
            disabled={total === 0}
            onPress={run}
          >
            {confirmText(action, total)}
          </Button>
        )}
        {stage === 'stopped' && (
          <Button kind="primary" onPress={run}>
            {t('continue')}
          </Button>
        )}
        {stage === 'done' && (
          <Button kind="primary" onPress={leave}>
            {t('close')}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

const withoutPassword = (members: readonly Member[]): Member[] =>
  members.filter(({ hasNoPassword, email }) => hasNoPassword && email !== undefined);

const isHarmful = (action: BulkAction): boolean => action.kind === 'status' && action.status !== 'active';

const targetOf = (action: BulkAction): string =>
  action.kind === 'role' ? (action.role?.name ?? t('none')) : action.kind === 'status' ? choiceText(action.status) : '';

function titleOf(action: BulkAction): string {
  if (action.kind === 'delete') return t('bulk_delete_title');
  return action.kind === 'role' ? t('bulk_role_title') : t('bulk_status_title', { status: targetOf(action) });
}

function confirmText(action: BulkAction, count: number): string {
  return action.kind === 'delete' ? tn('bulk_delete_confirm', count) : tn('bulk_change_confirm', count);
}

function doneText(action: BulkAction, count: number): string {
  if (action.kind === 'delete') return tn('bulk_deleted', count);
  if (action.kind === 'role' && action.role === null) return tn('bulk_role_removed', count);
  return tn(action.kind === 'role' ? 'bulk_role_changed' : 'bulk_status_changed', count, { value: targetOf(action) });
}

/** What follows from the action. */
function consequenceOf(action: BulkAction): string | undefined {
  if (action.kind === 'delete') return t('bulk_delete_text');
  if (action.kind === 'role') return t('bulk_role_text');
  return action.status === 'active' ? t('bulk_activate_text') : t('bulk_suspend_text');
}

/** How many kinds of changes are listed. */
const maxGroups = 8;

/** What will happen, according to the dry run. */
function Review({ action, checked }: { action: BulkAction; checked: Checked }) {
  const { members, unchanged, refused } = checked;
  const groups = new Map<string, number>();
  for (const { before, beforeName } of members) {
    const from = beforeName ?? (before === null ? t('none') : before === undefined ? '–' : choiceText(before));
    groups.set(from, (groups.get(from) ?? 0) + 1);
  }
  const listed = [...groups].sort(([, a], [, b]) => b - a).slice(0, maxGroups);
  return (
    <div class="bulk-review">
      {members.length === 0 ? (
        <p>{t('bulk_nothing')}</p>
      ) : (
        <>
          <p class="bulk-lead">
            <strong>{tn(action.kind === 'delete' ? 'bulk_delete_affected' : 'bulk_affected', members.length)}</strong>{' '}
            {consequenceOf(action)}
          </p>
          {action.kind === 'delete' ? (
            <p class="hint">{namesOf(members)}</p>
          ) : (
            <ul class="bulk-changes">
              {listed.map(([from, count]) => (
                <li key={from}>
                  <span>{numberText(count)}</span>
                  <span>{from}</span>
                  <span aria-hidden="true">→</span>
                  <strong>{targetOf(action)}</strong>
                </li>
              ))}
            </ul>
          )}
        </>
      )}
      {action.kind === 'role' && action.role && members.length > 0 && <Allowed role={action.role} />}
      {unchanged > 0 && <p class="hint">{tn('bulk_unchanged', unchanged)}</p>}
      {refused.length > 0 && <RefusedList title={tn('bulk_refused', refused.length)} refused={refused} />}
    </div>
  );
}

/** What the users may do with their new role. */
function Allowed({ role }: { role: { id: string; name: string } }) {
  const { isAdmin } = useAccess();
  if (!isAdmin) return null;
  return (
    <section aria-label={t('bulk_role_allows', { role: role.name })}>
      <h3>{t('bulk_role_allows', { role: role.name })}</h3>
      <Verdicts
        subject={{ kind: 'role', ...role }}
        asked={{ collection: 'users' }}
        actions={actions}
        compares={false}
      />
    </section>
  );
}

const maxNames = 5;

const namesOf = (members: readonly Member[]): string => {
  const names = members.slice(0, maxNames).map(({ name }) => name);
  return members.length > maxNames
    ? t('filter_more_values', { values: names.join(', '), count: numberText(members.length - maxNames) })
    : names.join(', ');
};

const maxListed = 100;

function RefusedList({ title, refused }: { title: string; refused: readonly Refused[] }) {
  return (
    <section class="bulk-refused" aria-label={title}>
      <h3>{title}</h3>
      <ul>
        {refused.slice(0, maxListed).map(({ member, reason, requestId }) => (
          <li key={member.id}>
            <strong>{member.name}</strong>
            <span>{reason}</span>
            {requestId && <span class="hint">{t('request_id', { id: requestId })}</span>}
          </li>
        ))}
      </ul>
      {refused.length > maxListed && <p class="hint">{tn('bulk_more_refused', refused.length - maxListed)}</p>}
    </section>
  );
}

function Progress({ label, value, max }: { label: string; value: number | undefined; max: number }) {
  return (
    <div class="bulk-progress">
      <progress aria-label={label} {...(value === undefined ? {} : { value })} max={max} />
      <p role="status">{label}</p>
    </div>
  );
}
