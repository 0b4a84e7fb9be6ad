import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import type { Schemas } from '../../api/types.js';
import { useApi } from '../../api/use-api.js';
import { useAccess } from '../../app/access.js';
import { isOpenPath } from '../../app/screens.js';
import { useUrlState } from '../../app/url-state.js';
import { BarChart } from '../../components/chart.js';
import { Failure } from '../../components/failure.js';
import { Icon, type IconName } from '../../components/icon.js';
import { Card, Screen, Tabs } from '../../components/layout.js';
import { numberText, type TextKey, t, timeText, utcDayText } from '../../texts.js';

type Interval = Schemas['Statistics']['interval'];
type Counts = Schemas['IntervalCounts'];
type Attention = Schemas['Attention'];

/** A number with two digits that count. */
function roundedDown(count: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(count)) - 1);
  return Math.floor(count / unit) * unit;
}

const periods = {
  hour: 'overview_day',
  day: 'overview_month',
  week: 'overview_quarter',
  month: 'overview_year',
} as const satisfies Record<Interval, TextKey>;

const sum = (intervals: readonly Counts[], of: (counts: Counts) => number | null) =>
  intervals.reduce((total, counts) => total + (of(counts) ?? 0), 0);

/** What needs attention, in the order of urgency, with the screen that shows it. */
const attention = [
  {
    name: 'administrators_without_second_factor',
    icon: 'shield',
    // A filter cannot ask for secrets, so these are all administrators.
    href: '/users?filter={"role":{"policies":{"_some":{"admin_access":{"_eq":true}}}}}',
  },
  { name: 'failed_emails', icon: 'email', href: '/emails?state=failed' },
  { name: 'locked_accounts', icon: 'lock', href: '/activity?action=lock' },
  { name: 'expired_invitations', icon: 'invitation', href: '/invitations?state=expired' },
  { name: 'pending_invitations', icon: 'invitation', href: '/invitations?state=pending' },
  {
    name: 'unverified_users',
    icon: 'user',
    href: '/users?filter={"status":{"_eq":"active"},"email":{"_nnull":true},"email_verified_at":{"_null":true}}',
  },
] as const satisfies readonly { name: keyof Attention; icon: IconName; href: string }[];

/** The numbers of the service, over time. */
export default function Overview() {
  const [state] = useUrlState<'interval'>();
  const interval: Interval =
    state.interval !== undefined && state.interval in periods ? (state.interval as Interval) : 'day';
  const { data, failure, reload } = useApi('/statistics', { query: { interval }, refreshMs: 60_000 });
  const statistics = data?.data;
  const intervals = statistics?.intervals ?? [];
  const names = intervals.map(({ start }) => (interval === 'hour' ? timeText(start) : utcDayText(start)));
  return (
    <Screen title={t('nav_overview')}>
      <Tabs
        label={t('overview_period')}
        tabs={(Object.keys(periods) as Interval[]).map((one) => ({
          href: one === 'day' ? '/overview' : `/overview?interval=${one}`,
          text: t(periods[one]),
          isCurrent: one === interval,
        }))}
      />
      <Failure failure={failure} retry={reload} />
      {statistics && (
        <>
          <dl class="figures">
            <Figure name={t('overview_users')} value={statistics.total_users} />
            <Figure name={t('overview_sign_ups')} value={sum(intervals, ({ sign_ups }) => sign_ups)} />
            <Figure name={t('overview_sign_ins')} value={sum(intervals, ({ sign_ins }) => sign_ins)} />
            <Figure name={t('overview_failed')} value={sum(intervals, ({ failed_sign_ins }) => failed_sign_ins)} />
          </dl>
          {statistics.estimated && <p class="hint">{t('overview_estimated')}</p>}
          <div class="charts">
            <Card title={t('overview_attention')}>
              <AttentionList attention={statistics.attention} />
            </Card>
            <Card title={t('overview_sign_ins_chart')}>
              <BarChart
                label={t('overview_sign_ins_chart')}
                points={names}
                series={[
                  { name: t('overview_sign_ins'), values: intervals.map(({ sign_ins }) => sign_ins), tone: 'accent' },
                  { name: t('overview_failed'), values: intervals.map((one) => one.failed_sign_ins), tone: 'bad' },
                ]}
              />
            </Card>
            <Card title={t('overview_active')}>
              <BarChart
                label={t('overview_active')}
                points={names}
                series={[
                  { name: t('overview_active'), values: intervals.map((one) => one.active_users), tone: 'good' },
                ]}
              />
            </Card>
            <Card title={t('overview_sign_ups')}>
              <BarChart
                label={t('overview_sign_ups')}
                points={names}
                series={[
                  { name: t('overview_sign_ups'), values: intervals.map((one) => one.sign_ups), tone: 'accent' },
                ]}
              />
            </Card>
          </div>
        </>
      )}
      {!statistics && !failure && <div class="screen-loading" aria-busy="true" />}
    </Screen>
  );
}

const Figure = ({ name, value }: { name: ComponentChildren; value: number }) => (
  <div>
    <dt>{name}</dt>
    <dd>{numberText(value)}</dd>
  </div>
);

function AttentionList({ attention: counts }: { attention: Attention }) {
  const access = useAccess();
  const open = attention.filter(({ name }) => counts[name].count > 0);
  if (open.length === 0) return <p class="muted">{t('overview_attention_none')}</p>;
  return (
    <ul class="lines">
      {open.map(({ name, icon, href }) => {
        const { count, estimated } = counts[name];
        return (
          <li class="line" key={name}>
            <Icon name={icon} />
            <span class="line-text">
              {isOpenPath(href, access) ? <Link href={href}>{t(`overview_${name}`)}</Link> : t(`overview_${name}`)}
            </span>
            <strong>
              {estimated ? t('overview_about', { count: numberText(roundedDown(count)) }) : numberText(count)}
            </strong>
          </li>
        );
      })}
    </ul>
  );
}
