/** The URL of the list of users, with a filter. */
export const usersHref = (filter: object): string =>
  `/users?${new URLSearchParams({ filter: JSON.stringify(filter) })}`;
