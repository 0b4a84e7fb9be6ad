import { useState } from 'preact/hooks';
import { t } from '../../texts.js';
import { Picker } from '../picker.js';
import type { Subject } from './explanation.js';

interface Props {
  value: Subject | undefined;
  onChange: (subject: Subject | undefined) => void;
}

const kinds = { role: 'subject_role', user: 'subject_user', public: 'subject_public' } as const;
type Kind = keyof typeof kinds;

/** Who: a role, a user, or anonymous callers. */
export function SubjectPicker({ value, onChange }: Props) {
  const [chosen, setChosen] = useState<Kind>(value?.kind ?? 'role');
  const kind = value?.kind ?? chosen;
  return (
    <fieldset class="subject">
      <legend class="label">{t('subject_label')}</legend>
      <div class="segments">
        {(Object.keys(kinds) as Kind[]).map((one) => (
          <label key={one}>
            <input
              type="radio"
              checked={kind === one}
              onChange={() => {
                setChosen(one);
                onChange(one === 'public' ? { kind: 'public' } : undefined);
              }}
            />
            <span>{t(kinds[one])}</span>
          </label>
        ))}
      </div>
      {kind !== 'public' && (
        <Picker
          kind={kind === 'role' ? 'roles' : 'users'}
          label={t(kinds[kind])}
          isLabelHidden
          value={value && value.kind !== 'public' ? { id: value.id, name: value.name } : undefined}
          onChange={(picked) => onChange(picked && { kind, id: picked.id, name: picked.name })}
        />
      )}
      {kind === 'public' && <p class="hint">{t('subject_public_hint')}</p>}
    </fieldset>
  );
}
