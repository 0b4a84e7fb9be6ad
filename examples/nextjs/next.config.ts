import type { NextConfig } from 'next';

const config: NextConfig = {
  // The links in emails contain a token, which must not reach other sites.
  headers: async () => [{ source: '/:path*', headers: [{ key: 'Referrer-Policy', value: 'no-referrer' }] }],
  // Otherwise, Next.js warns if a parent folder contains a lockfile, too.
  turbopack: { root: __dirname },
};

export default config;
