import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { scratchDirectory } from '../../../bosh/testing/scratch.ts';
import { makeServerCertificate } from '../../../bosh/testing/certificates.ts';
import { TokenServer } from './token-server.ts';

/**
 * Returns the reason to skip if the registry server of Debian, or the program that makes its password files,
 * is missing.
 */
export function dockerRegistryIsMissing(): string | false {
  const missing = Object.entries({ 'docker-registry': 'docker-registry', htpasswd: 'apache2-utils' })
    .filter(([program]) => !isOnPath(program))
    .map(([, debianPackage]) => debianPackage);
  return missing.length > 0 && `needs the Debian package ${missing.join(' and ')}`;
}

function isOnPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch (error) {
      if (error instanceof Error && 'code' in error) return false;
      throw error;
    }
  });
}

export interface DockerRegistryOptions {
  readonly authentication: 'none' | 'basic' | 'token';
  readonly deletes: boolean;
  /** Default: loopback. */
  readonly address?: string;
}

export interface DockerRegistry {
  /** An https URL; clients need `ca`. */
  readonly origin: string;
  readonly host: string;
  readonly ca: string;
  readonly credentials: { readonly username: string; readonly password: string };
  /** The directory of all its data. */
  readonly storage: string;
  readonly tokens: TokenServer | undefined;
  /** Collects garbage as the operator does: permanently deletes everything that no tag references. */
  collectGarbage(): Promise<void>;
}

/** Starts Docker's registry server, over TLS, on its own port, until the test ends. */
export async function startDockerRegistry(
  t: Pick<TestContext, 'after'>,
  { authentication, deletes, address = '127.0.0.1' }: DockerRegistryOptions,
): Promise<DockerRegistry> {
  const directory = await scratchDirectory(t as TestContext);
  const credentials = { username: 'robot', password: 'pass-word of a robot' };
  const certificate = await makeServerCertificate(address);
  const file = async (name: string, content: string): Promise<string> => {
    await writeFile(join(directory, name), content, { mode: 0o600 });
    return join(directory, name);
  };
  const tokens =
    authentication === 'token' ? await TokenServer.start(t, { certificate, credentials }) : undefined;
  const config = {
    version: '0.1',
    log: { level: 'info', accesslog: { disabled: true } },
    storage: {
      filesystem: { rootdirectory: join(directory, 'storage') },
      delete: { enabled: deletes },
      maintenance: { uploadpurging: { enabled: false } },
    },
    http: {
      addr: `${address}:0`,
      tls: {
        certificate: await file('tls.crt', certificate.certificate),
        key: await file('tls.key', certificate.private_key),
      },
    },
    ...(authentication === 'basic' && {
      auth: { htpasswd: { realm: 'test', path: await file('htpasswd', await htpasswd(credentials)) } },
    }),
    ...(tokens !== undefined && {
      auth: {
        token: {
          ...{ realm: tokens.realm, service: tokens.service, issuer: tokens.issuer },
          rootcertbundle: await file('tokens.crt', certificate.ca),
        },
      },
    }),
  };
  const storage = join(directory, 'storage');
  await mkdir(storage);
  const configPath = await file('config.yml', JSON.stringify(config));
  const env = { PATH: process.env['PATH'], OTEL_TRACES_EXPORTER: 'none' };
  const child = spawn('docker-registry', ['serve', configPath], { stdio: ['ignore', 'pipe', 'pipe'], env });
  t.after(() => ended(child));
  const host = await listening(child);
  return {
    ...{ origin: `https://${host}`, host, ca: certificate.ca, credentials, storage, tokens },
    collectGarbage: async () => {
      const args = ['garbage-collect', '--delete-untagged', configPath];
      await promisify(execFile)('docker-registry', args, { env });
    },
  };
}

/** The password is passed on stdin: every user can read arguments. */
async function htpasswd({ username, password }: DockerRegistry['credentials']): Promise<string> {
  const running = promisify(execFile)('htpasswd', ['-niB', '-C', '4', username]);
  running.child.stdin?.end(password);
  return (await running).stdout;
}

/** Returns the address on which the server listens: it was started with any free port. */
async function listening(child: ChildProcess): Promise<string> {
  const lines: string[] = [];
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('no output');
  stdout.resume();
  for await (const line of createInterface({ input: stderr })) {
    lines.push(line);
    const address = /listening on ([\d.]+:\d+)/u.exec(line)?.[1];
    if (address !== undefined) {
      stderr.resume();
      return address;
    }
  }
  throw new Error(`docker-registry does not start: ${lines.slice(-5).join('\n')}`);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => {
    child.on('exit', resolve);
    child.kill('SIGKILL');
  });
}
