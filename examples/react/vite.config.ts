import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
  server: {
    // The browser sends all requests to the dev server, which forwards these paths. Gatehouse is then on the same origin
    // as the pages, so the cookies belong to their host and no CORS is needed. In production, let your proxy do the same.
    proxy: {
      '^/(auth|users|account|policies/me)([/?]|$)': {
        target: process.env.GATEHOUSE_URL ?? 'http://127.0.0.1:8055',
        xfwd: true,
      },
    },
  },
});
