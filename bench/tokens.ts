/** The claims of an access token of the service, unverified. */
export const decodeClaims = (token: string): { id: string; session: string } =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
