import type { Access } from '../kit/access.js';
import { type PageData, page as shared } from '../kit/page-data.js';

/** What `plugins/pages/authorize.ts` adds. */
interface AuthorizeData extends PageData {
  /** The ID of the request that the user decides about. */
  request?: string;
  /** What the application asks for in that request. */
  access?: Access;
  /** Where to go after signing out. */
  afterSignOut?: string;
  /** The code in the URL, which the device shows as well. */
  userCode?: string;
}

export const page = shared as AuthorizeData;
