/** An API call that failed. */
export class ApiFailure extends Error {
  constructor(
    /** An error code of the API, or `NETWORK` if there was no response. */
    readonly code: string,
    /** The invalid field, if any. */
    readonly field?: string,
    /** Seconds to wait before the next attempt, if the API says so. */
    readonly retryAfter?: number,
    /** How the user can prove their identity, if the operation requires a fresh session. */
    readonly methods: readonly string[] = [],
    /** What the API says about the failure, in English. */
    readonly detail?: string,
    /** Identifies the request in the log of the service. */
    readonly requestId?: string,
  ) {
    super(code);
  }

  /** Whether the code means that no user is signed in. */
  get isSignedOut(): boolean {
    return ['INVALID_CREDENTIALS', 'TOKEN_EXPIRED', 'INVALID_TOKEN', 'USER_SUSPENDED'].includes(this.code);
  }
}

/** Reads the failure from an error response. A proxy may have sent the response, so the body can have any format. */
export async function failureOf(response: Response): Promise<ApiFailure> {
  const body = (await response.json().catch(() => undefined)) as
    | {
        errors?: {
          message?: string;
          extensions?: { code?: string; field?: string; type?: string; reason?: string; methods?: string[] };
        }[];
      }
    | undefined;
  const [{ message, extensions = {} } = {}] = body?.errors ?? [];
  const { code, field, type, reason: cause, methods } = extensions;
  const seconds = Number.parseInt(response.headers.get('retry-after') ?? '', 10);
  // Each reason for rejecting a password has its own message.
  const reason = code === 'FAILED_VALIDATION' && field === 'password' ? passwordFailure(type ?? '') : code;
  return new ApiFailure(
    reason ?? codeOf(response.status),
    field,
    Number.isNaN(seconds) ? undefined : seconds,
    methods,
    cause ?? message,
    response.headers.get('x-request-id') ?? undefined,
  );
}

const passwordReasons = new Set(['too_short', 'too_common', 'own_words', 'policy', 'breached']);

/** The failure code for the reason why a password was rejected. */
export function passwordFailure(type: string): string {
  const reason = type === 'regex' ? 'policy' : type;
  return passwordReasons.has(reason) ? `password_${reason}` : 'FAILED_VALIDATION';
}

function codeOf(status: number): string {
  if (status === 429) return 'REQUESTS_EXCEEDED';
  return status === 502 || status === 503 || status === 504 ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_SERVER_ERROR';
}
