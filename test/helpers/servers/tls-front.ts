import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Test } from 'tap';
import { atEndOf } from '../runner/teardown.js';
import { listen } from './ports.js';

/** A self-signed certificate for `localhost`. Its private key is public, so use it only in tests. */
export const testCertificate = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNdh2Ohm711B+i1Gi
ILWNoNODlHYwxAY6VcW7HI0N/Q+hRANCAASNSWK/YawtJ6UUZ0jdCMoXyqbrz1Ms
NivP+Lh3k15HUb11UEipkHr/z2uCTdMyPvwdpgOW6JHbVUX6pXh35SZ/
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUKt9Nj/MIBATVZI7qG16GwnKp0W0wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA5MzYyOFoYDzIxMjYxMDI4
MDkzNjI4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASNSWK/YawtJ6UUZ0jdCMoXyqbrz1MsNivP+Lh3k15HUb11UEipkHr/
z2uCTdMyPvwdpgOW6JHbVUX6pXh35SZ/o28wbTAdBgNVHQ4EFgQUF/d/yN2HR2py
AbcRiiv8ulwwXiIwHwYDVR0jBBgwFoAUF/d/yN2HR2pyAbcRiiv8ulwwXiIwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhAI8aLZ96fMW+UHDZsD7PgpWGCM6VozfuO2T2grmJVD0gAiEA
nN917HoMcEXMqMihKJftc2mFNYqvpQL3F8OjyIIHQcw=
-----END CERTIFICATE-----`,
};

/** Another self-signed certificate, for `db.example`. */
export const otherCertificate = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgABszkUdXPwSIeizp
ouhoPIq0ld2GFHRm0Fkla4D1Ow2hRANCAARoL6Z2cNBbuNEm7wrLU6kYne64z1V3
YMWVoQ+0nTU2q40MIX/gs2NGpwzduuzSnM6svqp2KRdCp5+OOBq6eK+z
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBmDCCAT6gAwIBAgIUKYZxu/Qvv0HH+O+WNxuIBfTQseQwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKZGIuZXhhbXBsZTAgFw0yNjExMjQyMzA1NDVaGA8yMTI2MTAz
MTIzMDU0NVowFTETMBEGA1UEAwwKZGIuZXhhbXBsZTBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABGgvpnZw0Fu40SbvCstTqRid7rjPVXdgxZWhD7SdNTarjQwhf+Cz
Y0anDN267NKczqy+qnYpF0Knn444Grp4r7OjajBoMB0GA1UdDgQWBBRSG786z0qA
SzCLl6x2Qwrmiy5T1zAfBgNVHSMEGDAWgBRSG786z0qASzCLl6x2Qwrmiy5T1zAP
BgNVHRMBAf8EBTADAQH/MBUGA1UdEQQOMAyCCmRiLmV4YW1wbGUwCgYIKoZIzj0E
AwIDSAAwRQIhANiX33gFI36kJthdDZhw01JXga9UDI1uoy7fbBfo9M+rAiAkTQ76
OmTQgLnJ5aqKOK06iPJofBlC/9YVMgDCAzLXCg==
-----END CERTIFICATE-----`,
};

/** Starts a TLS proxy for an unencrypted PostgreSQL server. Returns the port. It is closed when the test ends. */
export async function startTlsFront(
  t: Test,
  target: { host: string; port: number },
  certificate = testCertificate,
): Promise<number> {
  const open = new Set<Socket>();
  const keep = (socket: Socket) => {
    open.add(socket);
    socket
      .setNoDelay(true)
      .on('error', () => {})
      .on('close', () => open.delete(socket));
  };
  const server = createTcpServer((client) => {
    keep(client);
    // The SSLRequest message always consists of the same eight bytes.
    client.once('data', () => {
      client.write('S');
      const encrypted = new TLSSocket(client, { isServer: true, ...certificate });
      const upstream = connect(target.port, target.host);
      keep(upstream);
      encrypted.on('error', () => client.destroy()).on('close', () => upstream.destroy());
      upstream.on('close', () => client.destroy());
      encrypted.pipe(upstream).pipe(encrypted);
    });
  });
  const port = await listen(server);
  atEndOf(t, () => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return port;
}
