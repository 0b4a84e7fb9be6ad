import { readFileSync } from 'node:fs';

/** Certificates and keys for TLS, in PEM. */
export interface TlsFiles {
  /** The authorities to trust instead of those that Node trusts. */
  ca?: string;
  cert?: string;
  key?: string;
  passphrase?: string;
}

/** The parameters of a URL that are handled here and not by the driver. */
export interface OwnParameters {
  /** The value of `target_session_attrs`. */
  attributes: string | null;
  tls: TlsFiles;
  /** The URL without these parameters. The driver would send them to the server as settings. */
  rest: string;
}

const tlsFiles = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const;

const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];

/**
 * Parameters of libpq that neither the driver nor this service supports, each with the values that request nothing. An operator
 * who sets another value relies on a protection or a behavior that would be missing.
 */
const unsupported: Readonly<Record<string, readonly string[]>> = {
  channel_binding: ['prefer', 'disable'],
  gssencmode: ['prefer', 'disable'],
  gssdelegation: ['0'],
  gsslib: [],
  hostaddr: [],
  krbsrvname: [],
  load_balance_hosts: ['disable'],
  passfile: [],
  require_auth: [],
  requirepeer: [],
  requiressl: ['0'],
  service: [],
  sslcertmode: ['allow'],
  sslcompression: ['0'],
  sslcrl: [],
  sslcrldir: [],
  sslsni: ['1'],
  ssl_max_protocol_version: [],
  ssl_min_protocol_version: ['TLSv1', 'TLSv1.1', 'TLSv1.2'],
};

/** Splits the URL itself, because `URL` cannot parse several hosts. */
function split(url: string): { place: string; parameters: URLSearchParams } {
  const [place = '', query = ''] = url.split('?');
  return { place, parameters: new URLSearchParams(query) };
}

/** The hosts and ports in a URL, as written. */
export const hostsIn = (url: string): string => /^[a-z]+:\/\/(?:[^/?]*@)?([^/?]+)/.exec(url)?.[1] ?? 'localhost';

/** Why the parameters of a URL cannot be honored, with one sentence for each of them. */
export function parameterFaults(url: string): string[] {
  const { parameters } = split(url);
  const faults: string[] = [];
  for (const [name, value] of parameters) {
    const harmless = Object.hasOwn(unsupported, name) ? unsupported[name] : undefined;
    if (harmless && !harmless.includes(value)) faults.push(`the parameter ${name} is not supported`);
  }
  const mode = parameters.get('sslmode');
  if (mode !== null && !sslModes.includes(mode))
    faults.push(`the parameter sslmode must be one of ${sslModes.join(', ')}`);
  for (const name of Object.keys(tlsFiles)) {
    const file = parameters.get(name);
    if (file === null || isSystem(name, file)) continue;
    try {
      readFileSync(file);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      faults.push(`the file in the parameter ${name}, ${file}, cannot be read (${code})`);
    }
  }
  if (parameters.has('sslcert') !== parameters.has('sslkey'))
    faults.push('the parameters sslcert and sslkey must be set together');
  return faults;
}

/** Whether a parameter selects the authorities that Node trusts. */
const isSystem = (name: string, file: string) => name === 'sslrootcert' && file === 'system';

/**
 * Takes from a URL the parameters that the driver (3.4.9) does not handle correctly. The driver accepts a standby as `read-write`
 * and, while there is no primary, tries the other servers in a loop without a pause. It ignores certificates.
 */
export function takeOwnParameters(url: string): OwnParameters {
  const { place, parameters } = split(url);
  const attributes = parameters.get('target_session_attrs');
  const tls: TlsFiles = {};
  for (const [name, option] of Object.entries(tlsFiles)) {
    const file = parameters.get(name);
    if (file !== null && !isSystem(name, file)) tls[option] = readFileSync(file, 'utf8');
  }
  const passphrase = parameters.get('sslpassword');
  if (passphrase !== null) tls.passphrase = passphrase;
  // An operator who names an authority does not want an unencrypted connection, which is the driver's default.
  if (parameters.has('sslrootcert') && !parameters.has('sslmode') && !parameters.has('ssl'))
    parameters.set('sslmode', 'verify-full');
  const own = ['target_session_attrs', 'sslpassword', ...Object.keys(tlsFiles), ...Object.keys(unsupported)];
  for (const name of own) parameters.delete(name);
  return { attributes, tls, rest: parameters.size > 0 ? `${place}?${parameters}` : place };
}
