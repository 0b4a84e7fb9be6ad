/** Why a call of the API was not answered as hoped. */
export class ApiFailure extends Error {
  constructor(
    /** An error code of the API, or `NETWORK` when there was no answer at all. */
    readonly code: string,
    /** The field that is at fault, if one is. */
    readonly field?: string,
    /** Seconds to wait before the next attempt, if the API says so. */
    readonly retryAfter?: number,
    /** How the user can prove their identity, if that is what is missing. */
    readonly methods: readonly string[] = [],
  ) {
    super(code);
  }

  /** Whether it says that nobody is signed in. */
  get isSignedOut(): boolean {
    return ['INVALID_CREDENTIALS', 'TOKEN_EXPIRED', 'INVALID_TOKEN', 'USER_SUSPENDED'].includes(this.code);
  }
}

/** Reads what went wrong from an answer, which a proxy may have given in the API's stead. */
export async function failureOf(response: Response): Promise<ApiFailure> {
  const body = (await response.json().catch(() => undefined)) as
    | { errors?: { extensions?: { code?: string; field?: string; type?: string; methods?: string[] } }[] }
    | undefined;
  const { code, field, type, methods } = body?.errors?.[0]?.extensions ?? {};
  const seconds = Number.parseInt(response.headers.get('retry-after') ?? '', 10);
  // Why a password is refused is said in so many words.
  const reason = code === 'FAILED_VALIDATION' && field === 'password' ? passwordFailure(type ?? '') : code;
  return new ApiFailure(reason ?? codeOf(response.status), field, Number.isNaN(seconds) ? undefined : seconds, methods);
}

const passwordReasons = new Set(['too_short', 'too_common', 'own_words', 'policy', 'breached']);

/** The code of a failure that says why a password is refused. */
export function passwordFailure(type: string): string {
  const reason = type === 'regex' ? 'policy' : type;
  return passwordReasons.has(reason) ? `password_${reason}` : 'FAILED_VALIDATION';
}

function codeOf(status: number): string {
  if (status === 429) return 'REQUESTS_EXCEEDED';
  return status === 502 || status === 503 || status === 504 ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_SERVER_ERROR';
}
