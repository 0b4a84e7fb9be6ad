/** The administrator that a first start creates in most tests. */
export const administrator = { email: 'admin@example.com', password: 'the password of the administrator' };

/** The password of every user that the tests create. */
export const userPassword = 'the password of a user';
