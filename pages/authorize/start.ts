import { startConsent } from './consent.js';
import { startDevice } from './device.js';
import { page } from './page-data.js';
import { startSignOut } from './sign-out.js';

const starts: Readonly<Record<string, () => void>> = {
  consent: startConsent,
  device: startDevice,
  'sign-out': startSignOut,
};

starts[page.page]?.();
