import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { t } from '../../texts.js';
import { SelectField } from '../field.js';
import type { Subject } from './explanation.js';
import { actionsOn } from './rule.js';
import { collectionText } from './sentence.js';
import { SubjectPicker } from './subject-picker.js';
import { Verdicts } from './verdict.js';

interface Props {
  /** Whose permissions it explains at first. */
  start: Subject | undefined;
  /** Whether the subject can be changed. */
  isFixed?: boolean;
  collections: readonly string[];
}

/** The URL of the simulator. */
export function simulatorHref(subject: Subject | undefined, collection: string): string {
  const query = new URLSearchParams({ collection });
  if (subject) query.set('as', subject.kind === 'public' ? 'public' : `${subject.kind}:${subject.id}`);
  return `/simulator?${query}`;
}

/** The simulator, as a part of another screen. */
export function Simulation({ start, isFixed = false, collections }: Props) {
  const [picked, setPicked] = useState<Subject | undefined>(start);
  const [chosen, setChosen] = useState('users');
  const subject = isFixed ? start : picked;
  const collection = collections.includes(chosen) ? chosen : (collections[0] ?? 'users');
  return (
    <div class="simulation">
      {!isFixed && <SubjectPicker value={subject} onChange={setPicked} />}
      {collections.length > 1 && (
        <SelectField
          label={t('rule_collection')}
          isLabelHidden
          value={collection}
          options={collections.map((value) => ({ value, text: collectionText(value) }))}
          onChange={setChosen}
        />
      )}
      {subject ? (
        <Verdicts subject={subject} asked={{ collection }} actions={actionsOn(collection)} />
      ) : (
        <p class="muted">{t('subject_none')}</p>
      )}
      <Link href={simulatorHref(subject, collection)}>{t('simulator_open')}</Link>
    </div>
  );
}
