/** Default variables for providers with these names. Variables in the environment take precedence. */
export const providerPresets: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  google: {
    DRIVER: 'openid',
    LABEL: 'Google',
    ICON: 'google',
    ISSUER_URL: 'https://accounts.google.com',
  },
  github: {
    DRIVER: 'oauth2',
    LABEL: 'GitHub',
    ICON: 'github',
    AUTHORIZE_URL: 'https://github.com/login/oauth/authorize',
    ACCESS_URL: 'https://github.com/login/oauth/access_token',
    PROFILE_URL: 'https://api.github.com/user',
    // The profile contains only a public email address.
    EMAILS_URL: 'https://api.github.com/user/emails',
    SCOPE: 'read:user user:email',
    IDENTIFIER_KEY: 'id',
    FIRST_NAME_KEY: 'name',
  },
  microsoft: {
    DRIVER: 'openid',
    LABEL: 'Microsoft',
    ICON: 'microsoft',
    // Work, school and personal accounts. To allow only those of one organization, replace `common` with the ID of its tenant.
    ISSUER_URL: 'https://login.microsoftonline.com/common/v2.0',
  },
  gitlab: {
    DRIVER: 'openid',
    LABEL: 'GitLab',
    ICON: 'gitlab',
    ISSUER_URL: 'https://gitlab.com',
    // GitLab sends the full name as one text, which becomes the first name.
    FIRST_NAME_KEY: 'name',
  },
};
