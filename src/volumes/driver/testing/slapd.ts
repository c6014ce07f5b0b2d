import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { makeServerCertificate } from '../../../bosh/testing/certificates.ts';
import { closedPort } from '../../../kubernetes/testing/closed-port.ts';

const program = '/usr/sbin/slapd';

/** The reason why slapd is not available, or false. */
export const noSlapd: string | false = !existsSync(program) && "needs an LDAP server: Debian's package slapd";

export interface Slapd {
  readonly port: number;
  readonly tlsPort: number;
  /** The CA of the certificate of the TLS port. */
  readonly ca: string;
  signal(name: NodeJS.Signals): void;
  stop(): Promise<void>;
}

export const base = 'ou=people,dc=example';
export const service = { dn: 'cn=service,dc=example', password: 'service-password' };

/**
 * Starts an OpenLDAP server on loopback, with these LDIF entries below `base` and a service account that can
 * read them.
 */
export async function startSlapd(entries: string): Promise<Slapd> {
  const directory = await mkdtemp(join(tmpdir(), 'slapd-'));
  const { certificate, private_key: key, ca } = await makeServerCertificate();
  await mkdir(join(directory, 'data'), { mode: 0o700 });
  const file = (name: string): string => join(directory, name);
  await writeFile(file('certificate'), certificate);
  await writeFile(file('key'), key, { mode: 0o600 });
  await writeFile(file('slapd.conf'), configuration(directory));
  await writeFile(file('entries'), `${root}${entries}`);
  await promisify(execFile)(program, ['-T', 'add', '-f', file('slapd.conf'), '-l', file('entries')]);
  const [port, tlsPort] = [await closedPort(), await closedPort()];
  const urls = `ldap://127.0.0.1:${port} ldaps://127.0.0.1:${tlsPort}`;
  const child = spawn(program, ['-d', '0', '-f', file('slapd.conf'), '-h', urls], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  while (!(await listens(tlsPort))) {
    if (child.exitCode !== null) throw new Error(`slapd ended with ${child.exitCode}`);
    await pause(20);
  }
  return {
    port,
    tlsPort,
    ca,
    signal: (name) => void child.kill(name),
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
      await rm(directory, { recursive: true });
    },
  };
}

const root = `dn: dc=example
objectClass: domain
dc: example

dn: ${service.dn}
objectClass: person
cn: service
sn: service
userPassword: ${service.password}

dn: ${base}
objectClass: organizationalUnit
ou: people

`;

/** Only the part of Microsoft's schema that users need. */
const configuration = (directory: string): string => `
${['core', 'cosine', 'nis'].map((name) => `include /etc/ldap/schema/${name}.schema`).join('\n')}
objectclass ( 1.2.840.113556.1.5.9 NAME 'user' SUP top STRUCTURAL MUST cn MAY ( uidNumber $ gidNumber $ userPassword ) )
TLSCertificateFile ${directory}/certificate
TLSCertificateKeyFile ${directory}/key
database ldif
suffix dc=example
directory ${directory}/data
access to attrs=userPassword by anonymous auth
access to * by dn.exact="${service.dn}" read
`;

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  }).finally(() => socket.destroy()) as Promise<boolean>;
}
