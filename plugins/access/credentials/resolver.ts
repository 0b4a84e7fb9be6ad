import type { PrincipalRecord } from '../../../db/queries/access/principals.js';
import type { Credential } from '../../http/credential.js';

/** Recognizes the tokens of one kind of credential. */
export interface CredentialResolver {
  /**
   * Checks the form and the signature of a token, without the database.
   * @returns a function that looks the token up; undefined for a token of another kind
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED
   */
  recognize(token: string): Promise<Lookup | undefined>;
}

/**
 * Looks a token up in the database.
 * @returns undefined if the credential is unknown or no longer valid. The status of its user is checked later
 * @throws {ApiError} INVALID_CREDENTIALS
 */
export type Lookup = (request: PresentedIn) => Promise<Holder | undefined>;

/** What a lookup has to know about the request. */
export interface PresentedIn {
  /** When it arrived, as in `performance.now()`. */
  arrived: number;
  /** Fields of the caller's own row to read in the same query. */
  ownFields: readonly string[] | undefined;
}

/** A credential, and the user whom it belongs to. */
export interface Holder {
  user: PrincipalRecord;
  credential: Credential;
}
