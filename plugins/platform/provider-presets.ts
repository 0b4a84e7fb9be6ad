/** What need not be typed for a provider of this name; what the environment says comes first. */
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
    // The profile shows only an address that the user has made public.
    EMAILS_URL: 'https://api.github.com/user/emails',
    SCOPE: 'read:user user:email',
    IDENTIFIER_KEY: 'id',
    FIRST_NAME_KEY: 'name',
  },
  microsoft: {
    DRIVER: 'openid',
    LABEL: 'Microsoft',
    ICON: 'microsoft',
    // Work, school and personal accounts; with the id of a tenant in the place of `common`, those of one organisation.
    ISSUER_URL: 'https://login.microsoftonline.com/common/v2.0',
  },
  gitlab: {
    DRIVER: 'openid',
    LABEL: 'GitLab',
    ICON: 'gitlab',
    ISSUER_URL: 'https://gitlab.com',
    // One text, which goes into the first name whole.
    FIRST_NAME_KEY: 'name',
  },
};
