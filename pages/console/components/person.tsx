interface Person {
  first_name?: string | null | undefined;
  last_name?: string | null | undefined;
  email?: string | null | undefined;
  avatar?: string | null | undefined;
}

/** First and last name; undefined if the user has neither. */
export function fullName({ first_name, last_name }: Person): string | undefined {
  const name = [first_name, last_name].filter(Boolean).join(' ');
  return name === '' ? undefined : name;
}

/** How a user is called: the name, or the address of users without one. */
export const nameOf = (person: Person, otherwise = ''): string => fullName(person) ?? person.email ?? otherwise;

const initialsOf = (person: Person): string => {
  const letters = [person.first_name, person.last_name].map((name) => [...(name ?? '')][0] ?? '').join('');
  return (letters || ([...(person.email ?? '?')][0] ?? '')).toUpperCase();
};

const hues = 8;

/** The color of a user without a picture, which is always the same. */
const hueOf = (person: Person): number => {
  let sum = 0;
  for (const character of nameOf(person)) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 9973;
  return sum % hues;
};

/** Whether a picture is on the server of the console. From any other one, its owner would learn who looks at the picture, and when. */
function isOwnPicture(url: string): boolean {
  try {
    return new URL(url).origin === location.origin;
  } catch {
    return false;
  }
}

/** The user's picture, or their initials. Their name is beside it. */
export function Avatar({ person, size = 'small' }: { person: Person; size?: 'small' | 'large' }) {
  const { avatar } = person;
  return (
    <span class={`avatar avatar-${size} hue-${hueOf(person)}`} aria-hidden="true">
      {avatar && isOwnPicture(avatar) ? <img src={avatar} alt="" loading="lazy" /> : initialsOf(person)}
    </span>
  );
}

/** A user in a table. The address is below the name, unless it stands for it. */
export const PersonCell = ({ person, id }: { person: Person; id: string | undefined }) => (
  <span class="person-cell">
    <Avatar person={person} />
    <span>
      <strong>{nameOf(person, id)}</strong>
      {fullName(person) && person.email && <span class="hint">{person.email}</span>}
    </span>
  </span>
);
