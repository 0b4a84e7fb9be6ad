import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Nullable, named } from './common.js';

export const Ping = Type.Literal('pong', { description: 'The service is running.' });

const CheckResult = named(
  'HealthCheck',
  Closed({
    status: Type.Union([Type.Literal('ok'), Type.Literal('error')]),
    latency_ms: Type.Number({ description: 'The duration of the check, in milliseconds.' }),
  }),
);
export type CheckResult = Static<typeof CheckResult>;

const WriteCheckResult = named(
  'WriteCheck',
  Closed({
    status: Type.Union([Type.Literal('ok'), Type.Literal('error')]),
    failing_since: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'The time of the first failed write to the database since the last successful one.',
      }),
    ),
  }),
);

export const Health = named(
  'Health',
  Closed(
    {
      status: Type.Union([Type.Literal('ok'), Type.Literal('warn'), Type.Literal('error')], {
        description:
          '`ok`: the service works. `warn`: requests that write to the database currently fail, but others succeed. `error`: a required component is unavailable, or the service is about to stop.',
      }),
      version: Type.Optional(
        Type.String({
          description:
            'The version of the service. Returned only to administrators, and to clients that send `METRICS_TOKEN`.',
        }),
      ),
      checks: Type.Optional(
        Type.Object(
          { database: CheckResult, redis: Type.Optional(CheckResult), writes: WriteCheckResult },
          {
            additionalProperties: false,
            description:
              'The state of each component. Returned only to administrators, and to clients that send `METRICS_TOKEN`. The service cannot work without the database. If Redis is configured but unavailable, each instance enforces its rate limits separately.',
          },
        ),
      ),
    },
    { description: 'The health of the service and its components.', examples: [{ status: 'ok' }] },
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
        public_registration: Type.Boolean({ description: 'Whether users can register.' }),
        public_registration_verify_email: Type.Boolean({
          description: 'Whether users who register must verify their email address.',
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
