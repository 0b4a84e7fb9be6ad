import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Nullable, named } from './common.js';

export const Ping = Type.Literal('pong', { description: 'The service is up and answers.' });

const CheckResult = named(
  'HealthCheck',
  Closed({
    status: Type.Union([Type.Literal('ok'), Type.Literal('error')]),
    latency_ms: Type.Number({ description: 'How long the check took, in milliseconds.' }),
  }),
);

export const Health = named(
  'Health',
  Closed(
    {
      status: Type.Union([Type.Literal('ok'), Type.Literal('error')]),
      version: Type.Optional(Type.String({ description: 'Version of the service. For admins only.' })),
      checks: Type.Optional(
        Type.Object(
          { database: CheckResult, redis: Type.Optional(CheckResult) },
          {
            additionalProperties: false,
            description:
              'The parts of the service. For admins only. It needs the database; without Redis, if there is one, each instance counts requests by itself.',
          },
        ),
      ),
    },
    { description: 'Whether the service and all that it needs are in order.', examples: [{ status: 'ok' }] },
  ),
);
export type Health = Static<typeof Health>;

export const ServerInfo = named(
  'ServerInfo',
  Closed(
    {
      project: Closed({
        project_name: Type.String(),
        project_color: Nullable(Type.String()),
        project_logo: Nullable(Type.String()),
        default_language: Type.String(),
        public_registration: Type.Boolean({ description: 'Whether anyone may register.' }),
        public_registration_verify_email: Type.Boolean({
          description: 'Whether a registration is verified by e-mail.',
        }),
      }),
    },
    { description: 'The public settings of the project.' },
  ),
);
export type ServerInfo = Static<typeof ServerInfo>;

export const ServerInfoResponse = named(
  'ServerInfoResponse',
  Data(ServerInfo, {
    project: {
      project_name: 'Gatehouse',
      project_color: null,
      project_logo: null,
      default_language: 'en-US',
      public_registration: false,
      public_registration_verify_email: true,
    },
  }),
);
