import { type PageData, page as shared } from '../kit/page-data.js';

/** The data that the service passes to the console. */
interface ConsoleData extends PageData {
  /** The name of the project. */
  project: string;
  /** The URL of its logo. */
  logo: string | null;
  languages: readonly { tag: string; name: string }[];
}

export const page = shared as ConsoleData;
