import { useId } from 'preact/hooks';
import { numberText, t } from '../texts.js';

interface Series {
  name: string;
  /** Null: not known. */
  values: readonly (number | null)[];
  tone: 'accent' | 'good' | 'bad';
}

interface Props {
  label: string;
  /** The names of the points, such as days. */
  points: readonly string[];
  series: readonly Series[];
}

const width = 640;
const height = 160;

const valueText = (value: number | null | undefined): string => (typeof value === 'number' ? numberText(value) : '–');

/** Bars over time, with the numbers as a table for screen readers. */
export function BarChart({ label, points, series }: Props) {
  const id = useId();
  const top = Math.max(
    1,
    ...points.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0)),
  );
  const step = width / Math.max(1, points.length);
  const bar = Math.max(1, step * 0.7);
  return (
    <figure class="chart">
      <figcaption id={id} class="chart-top">
        <span class="visually-hidden">{label}</span>
        <ul class="legend" aria-hidden="true">
          {series.map(({ name, tone }) => (
            <li key={name} class={`mark-${tone}`}>
              {name}
            </li>
          ))}
        </ul>
        <span class="hint">{numberText(top)}</span>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        <line x1="0" y1="0.5" x2={width} y2="0.5" class="grid-line" />
        <line x1="0" y1={height / 2} x2={width} y2={height / 2} class="grid-line" />
        <line x1="0" y1={height - 0.5} x2={width} y2={height - 0.5} class="grid-line" />
        {points.map((point, index) => {
          let below = 0;
          return (
            <g key={point}>
              <title>{`${point}: ${series.map(({ name, values }) => `${name} ${valueText(values[index])}`).join(', ')}`}</title>
              <rect x={index * step} y="0" width={step} height={height} class="hit" />
              {series.map(({ name, values, tone }) => {
                const size = ((values[index] ?? 0) / top) * (height - 2);
                below += size;
                return (
                  <rect
                    key={name}
                    class={`fill-${tone}`}
                    x={index * step + (step - bar) / 2}
                    y={height - below}
                    width={bar}
                    height={size}
                  />
                );
              })}
            </g>
          );
        })}
      </svg>
      <div class="chart-axis" aria-hidden="true">
        <span>{points[0]}</span>
        <span>{points.at(-1)}</span>
      </div>
      <div class="visually-hidden">
        <table aria-labelledby={id}>
          <thead>
            <tr>
              <th scope="col">{t('overview_period')}</th>
              {series.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {points.map((point, index) => (
              <tr key={point}>
                <th scope="row">{point}</th>
                {series.map(({ name, values }) => (
                  <td key={name}>{valueText(values[index])}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}
