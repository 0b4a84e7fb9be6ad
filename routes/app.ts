import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';

/** The app as routes see it: request and reply are typed by the route's schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** Security of a route that is for users only, in the OpenAPI document: any one of the carriers. */
export const anyCredential: Record<string, string[]>[] = [{ bearer: [] }, { queryToken: [] }, { sessionCookie: [] }];

/** Security of a route that answers anyone, and tells more to some. */
export const optionalCredential: Record<string, string[]>[] = [{}, ...anyCredential];

/** Security of a route that takes a session's own credential: in the body, or in the cookie of its mode. */
export const sessionCarriers: Record<string, string[]>[] = [{}, { refreshCookie: [] }, { sessionCookie: [] }];

/** Description of the answer without a body. */
export const noContent = (description: string) => ({ type: 'null', description }) as const;
