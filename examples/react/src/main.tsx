import { type ReactNode, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { AccountProvider } from './account';
import { AcceptInvitation } from './pages/AcceptInvitation';
import { Home } from './pages/Home';
import { Register } from './pages/Register';
import { ForgotPassword, ResetPassword } from './pages/ResetPassword';
import { VerifyEmail } from './pages/VerifyEmail';

const pages: Record<string, ReactNode> = {
  '/': (
    <AccountProvider>
      <Home />
    </AccountProvider>
  ),
  '/register': <Register />,
  '/forgot-password': <ForgotPassword />,
  // The pages that links in emails open.
  '/verify-email': <VerifyEmail />,
  '/accept-invitation': <AcceptInvitation />,
  '/reset-password': <ResetPassword />,
};

const container = document.querySelector('#app');
if (container)
  createRoot(container).render(<StrictMode>{pages[location.pathname] ?? <h1>Page not found</h1>}</StrictMode>);
