import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
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

/** Whether a browser made the request to show the response to a person. */
export const wantsHtml = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  /\btext\/html\b/i.test(headers.accept ?? '');

/** Responds with what was written, or with 204 if the caller cannot read it. */
export const sendWritten = <Written extends object>(reply: Pick<FastifyReply, 'code'>, written: Written | null) =>
  written ?? reply.code(204).send();

/** The schema of a response without a body. */
export const noContent = (description: string) => ({ type: 'null', description }) as const;
