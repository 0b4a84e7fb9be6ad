/** Why a call of the API was not answered as hoped. */
export class ApiFailure extends Error {
  constructor(
    /** An error code of the API, or `NETWORK` when there was no answer at all. */
    readonly code: string,
    /** The field that is at fault, if one is. */
    readonly field?: string,
    /** Seconds to wait before the next attempt, if the API says so. */
    readonly retryAfter?: number,
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
    | { errors?: { extensions?: { code?: string; field?: string } }[] }
    | undefined;
  const { code, field } = body?.errors?.[0]?.extensions ?? {};
  const seconds = Number.parseInt(response.headers.get('retry-after') ?? '', 10);
  return new ApiFailure(code ?? codeOf(response.status), field, Number.isNaN(seconds) ? undefined : seconds);
}

function codeOf(status: number): string {
  if (status === 429) return 'REQUESTS_EXCEEDED';
  return status === 502 || status === 503 || status === 504 ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_SERVER_ERROR';
}
