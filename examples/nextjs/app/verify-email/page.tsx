import { VerifyEmail } from './form';

export default async function Page({ searchParams }: { searchParams: Promise<{ token?: string }> }) {
  const { token = '' } = await searchParams;
  // Opening the page changes nothing, because email scanners open links too. The user confirms with the button.
  return <VerifyEmail token={token} />;
}
