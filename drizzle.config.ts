// For drizzle-kit, which only `npm run migrations` installs.
export default {
  dialect: 'postgresql',
  schema: './db/schema.ts',
  out: './db/migrations',
};
