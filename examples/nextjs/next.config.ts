import type { NextConfig } from 'next';

const config: NextConfig = {
  // The links in emails contain a token, which must not reach other sites.
  headers: async () => [{ source: '/:path*', headers: [{ key: 'Referrer-Policy', value: 'no-referrer' }] }],
};

export default config;
