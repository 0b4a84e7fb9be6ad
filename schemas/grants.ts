import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Nullable, named, Timestamp, Uuid } from './common.js';

export const Grant = named(
  'Grant',
  Closed(
    {
      id: Uuid('The ID of the grant.'),
      client: Closed(
        {
          id: Type.String({ description: 'The client ID of the application.' }),
          name: Type.String({ description: 'The name of the application.' }),
          logo_uri: Nullable(Type.String({ description: 'The URL of its logo.' })),
        },
        { description: 'The application.' },
      ),
      scopes: Type.Array(Type.String(), { description: 'What the application can read about the user.' }),
      resources: Type.Array(
        Closed({
          identifier: Type.String({ description: 'The identifier of the API.' }),
          name: Type.String({ description: 'The name of the API.' }),
          scopes: Type.Array(Type.String(), { description: 'What the application can do there.' }),
        }),
        { description: 'The APIs that the application can call on behalf of the user.' },
      ),
      created_at: Timestamp('When the user allowed the access.'),
      last_used_at: Nullable(Timestamp('When the application last received a token. Accurate to the minute.')),
    },
    { description: 'The access that a user has given to an application.' },
  ),
);
export type Grant = Omit<Static<typeof Grant>, 'created_at' | 'last_used_at'> & {
  created_at: Date;
  last_used_at: Date | null;
};

export const GrantsResponse = named(
  'GrantsResponse',
  Data(Type.Array(Grant), [
    {
      id: '6a1c5f0e-93b4-4a0b-8c2e-0f7f7d1a2b3c',
      client: { id: 'c0a80101-7f3e-4a51-9a6e-2b8f5d4c3e21', name: 'Notes', logo_uri: null },
      scopes: ['openid', 'email'],
      resources: [{ identifier: 'https://api.example.com/notes', name: 'Notes API', scopes: ['notes:read'] }],
      created_at: '2026-11-20T09:00:00.000Z',
      last_used_at: '2026-11-21T16:42:00.000Z',
    },
  ]),
);
