import { execFile } from 'node:child_process';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { PostgresAccess } from '../store/postgres-store.ts';

const run = promisify(execFile);

/** Returns Debian's directory of PostgreSQL programs, which is not in PATH. */
async function programs(): Promise<string | undefined> {
  const directory = '/usr/lib/postgresql';
  const versions = await readdir(directory).catch(() => []);
  const newest = versions.toSorted((one, other) => Number(other) - Number(one))[0];
  return newest === undefined ? undefined : join(directory, newest, 'bin');
}

const found = await programs();

/** The reason why PostgreSQL is not available, or false. */
export const noPostgres: string | false =
  found === undefined ? "needs PostgreSQL: Debian's package postgresql" : false;

export interface PostgresServer {
  readonly access: PostgresAccess;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops the server and removes its files. */
  remove(): Promise<void>;
}

/**
 * Starts a PostgreSQL server for a test, on a unix socket in a scratch directory. If this process is root,
 * the server runs as the user `postgres`.
 */
export async function postgresServer(): Promise<PostgresServer> {
  const directory = await mkdtemp(join(tmpdir(), 'broker-postgres-'));
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    const { stdout } = await run('id', ['-u', 'postgres']);
    await chown(directory, Number(stdout), 0);
  }
  const call = async (program: string, ...args: string[]): Promise<void> => {
    const command = [join(found ?? '', program), ...args];
    const before = isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : [];
    const [first = '', ...rest] = [...before, ...command];
    await run(first, rest, { cwd: directory });
  };
  const data = join(directory, 'data');
  const options = `-c listen_addresses='' -c unix_socket_directories='${directory}' -c fsync=off`;
  const start = (): Promise<void> =>
    call('pg_ctl', '-D', data, '-w', '-l', join(directory, 'log'), '-o', options, 'start');
  const stop = (): Promise<void> => call('pg_ctl', '-D', data, '-w', '-m', 'immediate', 'stop');
  await call('initdb', '-D', data, '-U', 'broker', '--auth=trust', '--no-sync', '-E', 'UTF8');
  await start();
  return {
    access: { host: directory, port: 5432, database: 'postgres', user: 'broker' },
    start,
    stop,
    remove: async () => {
      // a test may have stopped it already
      await stop().catch(() => undefined);
      await rm(directory, { recursive: true });
    },
  };
}
