import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../components/button.js';
import { Empty } from '../components/layout.js';
import { t } from '../texts.js';
import type { ScreenProps, screens } from './screens.js';

type Load = (typeof screens)[number]['load'];

const loaded = new Map<Load, ComponentType<ScreenProps>>();

async function prepare(load: Load): Promise<void> {
  loaded.set(load, (await load()).default);
}

/** Resolves when the browser has nothing else to do. Safari cannot tell. */
const idle = () => new Promise<unknown>((resolve) => (globalThis.requestIdleCallback ?? setTimeout)(resolve));

/** Loads the code of screens in the background, so that nobody has to wait for it. What fails is loaded again when it is needed. */
export async function preload(loads: readonly Load[]): Promise<void> {
  for (const load of loads) {
    await idle();
    await prepare(load).catch(() => {});
  }
}

/** Loads the code of a screen, and shows it. */
export function LazyScreen({ load, params }: ScreenProps & { load: Load }) {
  const [, redraw] = useState(0);
  const [isGone, setIsGone] = useState(false);
  const Loaded = loaded.get(load);
  useEffect(() => {
    if (Loaded) return;
    prepare(load).then(
      () => redraw((count) => count + 1),
      // A new version of the service has other files, or the network is down.
      () => setIsGone(true),
    );
  }, [load]);
  if (isGone)
    return (
      <Empty
        icon="refresh"
        title={t('screen_gone_title')}
        action={
          <Button kind="primary" onPress={() => location.reload()}>
            {t('reload')}
          </Button>
        }
      >
        {t('screen_gone')}
      </Empty>
    );
  return Loaded ? <Loaded params={params} /> : <div class="screen-loading" aria-busy="true" />;
}
