import type { ComponentChildren } from 'preact';
import type { Loaded } from '../../api/use-api.js';
import { Button } from '../../components/button.js';
import { ask } from '../../components/dialog.js';
import { Failure } from '../../components/failure.js';
import { Icon, type IconName } from '../../components/icon.js';
import { Card } from '../../components/layout.js';
import { Ago, Day } from '../../components/time.js';
import { toast } from '../../components/toast.js';
import { t } from '../../texts.js';

/** How an item is removed. */
interface Removal {
  title: string;
  text: string;
  action: string;
  act: () => Promise<unknown>;
  done: string;
}

interface Props<T> {
  title: string;
  lead?: string | undefined;
  loaded: Loaded<{ data: readonly T[] }>;
  /** What is shown if there are no items. */
  none: string;
  icon: IconName;
  line: (item: T) => ComponentChildren;
  /** Whether nothing can be removed. Default: false. */
  isFixed?: boolean;
  removal: (item: T) => Removal;
}

/** What a user has, such as passkeys. Each item can be removed after a confirmation. */
export function RemovableLines<T extends { id: string }>({ loaded, ...props }: Props<T>) {
  const { data, failure, reload } = loaded;
  const { title, lead, none, icon, line, isFixed = false, removal } = props;
  const items = data?.data ?? [];
  const remove = ({ done, ...asked }: Removal) =>
    ask({
      ...asked,
      act: async () => {
        await asked.act();
        reload();
        toast(done);
      },
    });
  return (
    <Card title={title} {...(lead === undefined ? {} : { lead })}>
      <Failure failure={failure} retry={reload} />
      {data && items.length === 0 && <p class="muted">{none}</p>}
      <ul class="lines">
        {items.map((item) => (
          <li class="line" key={item.id}>
            <Icon name={icon} />
            <div class="line-text">{line(item)}</div>
            {!isFixed && (
              <Button kind="danger" onPress={() => remove(removal(item))}>
                {removal(item).action}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** When an item was added, and when it was last used. */
export const Used = ({ created_at, last_used_at }: { created_at: string; last_used_at: string | null }) => (
  <>
    {t('user_added')} <Day time={created_at} /> · {t('user_used')} <Ago time={last_used_at} otherwise={t('never')} />
  </>
);
