// The access tokens that applications get for the service itself. A prefix distinguishes them from static tokens, which have no fixed form,
// and lets scanners recognize a token that has leaked.

const prefix = 'gat_';
const form = /^gat_[A-Za-z0-9_-]{43}$/;

/** @param secret 43 random characters of `[A-Za-z0-9_-]` */
export const opaqueAccessToken = (secret: string): string => prefix + secret;

export const isOpaqueAccessToken = (text: string): boolean => form.test(text);
