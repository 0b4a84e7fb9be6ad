/** Metrics in the text format of Prometheus. */
export interface MetricsText {
  /** The value of the sample with exactly these labels, or undefined. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
  /** The samples of a metric, by their labels as in the text. */
  samples(name: string): Readonly<Record<string, number>>;
  /** The names of all samples. */
  names(): Set<string>;
}

export function metricsOf(text: string): MetricsText {
  const byName = new Map<string, Record<string, number>>();
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = /^([a-z_:]\w*)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
    if (name === undefined) continue;
    byName.set(name, { ...byName.get(name), [labels]: Number(value) });
  }
  const written = (labels: Readonly<Record<string, string>>) =>
    Object.entries(labels)
      .map(([label, value]) => `${label}="${value}"`)
      .join(',');
  return {
    value: (name, labels = {}) => byName.get(name)?.[written(labels)],
    samples: (name) => byName.get(name) ?? {},
    names: () => new Set(byName.keys()),
  };
}
