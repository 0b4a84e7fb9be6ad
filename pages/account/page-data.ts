import { type PageData, page as shared } from '../kit/page-data.js';

/** What `plugins/pages/account.ts` adds. */
interface AccountData extends PageData {
  offers: PageData['offers'] & {
    /** Whether users who are not administrators can manage their own profile, address and data. */
    selfService: boolean;
    selfDeletion: boolean;
  };
  /** The sections, in the order of the navigation. */
  views: readonly string[];
}

export const page = shared as AccountData;
