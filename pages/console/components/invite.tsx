import { post } from '../api/client.js';
import { changed } from '../api/use-api.js';
import { useDraft } from '../app/draft.js';
import { t, tn } from '../texts.js';
import { ask, Dialog } from './dialog.js';
import { TextField } from './field.js';
import { Form } from './form.js';
import { type Picked, Picker } from './picker.js';
import { toast } from './toast.js';

/** How many addresses a request contains. */
const maxPerRequest = 100;

interface Draft {
  emails: string;
  role?: Picked | undefined;
}

/** The addresses in a text, in which they can be separated in any usual way, such as in a column of a spreadsheet. */
const addressesIn = (text: string): string[] => [
  ...new Set(text.split(/[\s,;<>"]+/).filter((part) => part.includes('@'))),
];

/** Invites users by email. */
export function Invite({ onClose }: { onClose: () => void }) {
  const [{ emails: text, role }, enter, discard] = useDraft<Draft>('users-invite', { emails: '' });
  const emails = addressesIn(text);
  const invite = async () => {
    let left = emails;
    for (let first = 0; first < emails.length; first += maxPerRequest) {
      const part = emails.slice(first, first + maxPerRequest);
      await post('/users/invite', { email: part, role: role?.id ?? '' });
      // Those that have been invited leave the form, also if a later request fails. Those that the user has added meanwhile stay.
      enter((latest) => {
        left = addressesIn(latest.emails).filter((email) => !part.includes(email));
        return { emails: left.join('\n') };
      });
    }
    void changed('users');
    if (left.length === 0) discard(onClose);
    const href = `/users?${new URLSearchParams({ filter: JSON.stringify({ status: { _eq: 'invited' } }) })}`;
    toast(tn('invite_done', emails.length), { link: { href, text: t('invite_show') } });
  };
  return (
    <Dialog title={t('invite_title')} lead={t('invite_lead')} onClose={onClose}>
      <Form
        submit={emails.length > 0 ? tn('invite_submit', emails.length) : t('invite')}
        fields={['email', 'role']}
        disabled={emails.length === 0 || !role}
        onSubmit={invite}
        onCancel={() => discard(onClose)}
      >
        {(faultOf) => (
          <>
            <TextField
              label={t('invite_emails')}
              hint={t('invite_emails_hint')}
              fault={faultOf('email')}
              lines={4}
              value={text}
              onInput={(next) => enter({ emails: next })}
            />
            <Picker kind="roles" label={t('invite_role')} value={role} onChange={(next) => enter({ role: next })} />
          </>
        )}
      </Form>
    </Dialog>
  );
}

interface Invited {
  email: string;
  /** What the user is called. */
  name: string;
  /** The ID of the role. Undefined: the user has none, or the caller can't read it. */
  role: string | undefined;
}

/** Asks whether to send an invitation again. */
export function askToResend({ email, name, role }: Invited): void {
  ask({
    title: t('user_resend_invitation_title', { name }),
    text: t('user_resend_invitation_text', { email }),
    action: t('user_resend_invitation'),
    isDangerous: false,
    act: async () => {
      await post('/users/invite', { email, ...(role === undefined ? {} : { role }) });
      void changed('users');
      toast(t('user_resend_invitation_done', { email }));
    },
  });
}
