import dns, { type LookupAddress, type LookupAllOptions } from 'node:dns';
import type { RequestListener } from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import tls from 'node:tls';
import type { Test } from 'tap';
import { atEndOf } from '../runner/teardown.js';
import { listen } from './ports.js';

/** A self-signed certificate for `*.example.com` and `*.example.net`. Its private key is public, so use it only in tests. */
const certificate = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgLqVWzmLMFTqoAiFP
iQUNjTh2OWT8GRkom3H8T0JSUJGhRANCAAQLq8zcHEgLoLuyYJj3vNS39aZUCVWl
Go7d2PB48hR1Jn9Zk6hf/DvO+IvZrwbyla0nse8oZYLWXJnKTQu8UOcJ
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBsDCCAVagAwIBAgIUKKSYQ/bVL+wXIVd8syDUuHvxqlkwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNKi5leGFtcGxlLmNvbTAgFw0yNjExMjcwOTE0MDhaGA8yMTI2
MTEwMzA5MTQwOFowGDEWMBQGA1UEAwwNKi5leGFtcGxlLmNvbTBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABAurzNwcSAugu7JgmPe81Lf1plQJVaUajt3Y8HjyFHUm
f1mTqF/8O874i9mvBvKVrSex7yhlgtZcmcpNC7xQ5wmjfDB6MB0GA1UdDgQWBBQq
/wDnu+Ez6vo79jikRaMsWqM2izAfBgNVHSMEGDAWgBQq/wDnu+Ez6vo79jikRaMs
WqM2izAPBgNVHRMBAf8EBTADAQH/MCcGA1UdEQQgMB6CDSouZXhhbXBsZS5jb22C
DSouZXhhbXBsZS5uZXQwCgYIKoZIzj0EAwIDSAAwRQIgMZ45ZbgTB3hnrHKLJUbw
SHSZWVd5+P15sOIJ5i2jD5ACIQCMYc54V+avTDbX+gxvw1yB0tS8+TSvVGlvRQuT
9Ny2gg==
-----END CERTIFICATE-----`,
};

/** An address on the internet. */
export const publicAddress = '93.184.215.14';

export interface PublicHosts {
  /** The port of every host. */
  port: number;
  /** The requests that have arrived, such as `agent.example.com/client.json`. */
  requests: string[];
  /** Responds to requests for a page, such as `agent.example.com/client.json`. */
  serve(page: string, listener: RequestListener): void;
  /** Sets what the name of a host resolves to, each time that it is resolved. The last answer is repeated. */
  resolve(host: string, ...answers: string[][]): void;
}

/**
 * Starts the hosts below `example.com` and `example.net`, with https, as if they were on the internet: their names resolve to
 * {@link publicAddress}, and connections to that address lead to this machine. Everything else is real. In particular, a connection to an
 * address of this machine reaches the same server, so that a service that connects to it is noticed.
 */
export async function startPublicHosts(t: Test): Promise<PublicHosts> {
  const pages = new Map<string, RequestListener>();
  const answers = new Map<string, string[][]>();
  const requests: string[] = [];
  const server = https.createServer(certificate, (request, response) => {
    const page = `${request.headers.host?.replace(/:\d+$/, '')}${request.url}`;
    requests.push(page);
    // Each request has its own connection, so that the name is resolved for each.
    response.setHeader('connection', 'close');
    const listener = pages.get(page);
    if (listener) listener(request, response);
    else response.writeHead(404).end();
  });
  const port = await listen(server);

  type Callback = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;
  const { lookup } = dns;
  const { connect } = tls;
  const lookupPublic = (host: string, options: LookupAllOptions, callback: Callback) => {
    if (!/\.example\.(?:com|net)$/.test(host)) return lookup(host, options, callback);
    const left = answers.get(host) ?? [[publicAddress]];
    const [addresses = []] = left.length > 1 ? left.splice(0, 1) : left;
    return callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  const delivered = (address: string) => (address === publicAddress ? '127.0.0.1' : address);
  const connectPublic = (options: tls.ConnectionOptions, ...rest: []) =>
    connect(
      {
        ...options,
        ca: certificate.cert,
        ...(options.lookup
          ? {
              lookup: (host, lookupOptions, callback) =>
                options.lookup?.(host, lookupOptions, (error, found, family) => {
                  const list = Array.isArray(found);
                  if (list)
                    callback(
                      error,
                      found.map((each) => ({ ...each, address: delivered(each.address) })),
                    );
                  else callback(error, delivered(found), family);
                }),
            }
          : {}),
      },
      ...rest,
    );
  Object.assign(dns, { lookup: lookupPublic });
  Object.assign(tls, { connect: connectPublic });
  syncBuiltinESMExports();
  atEndOf(t, () => {
    Object.assign(dns, { lookup });
    Object.assign(tls, { connect });
    syncBuiltinESMExports();
    server.close();
    server.closeAllConnections();
  });

  return {
    port,
    requests,
    serve: (page, listener) => void pages.set(page, listener),
    resolve: (host, ...list) => void answers.set(host, list),
  };
}
