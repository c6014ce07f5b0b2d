import { constants } from 'node:fs';
import { access, mkdir, open, rm } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Directories } from '../directories.ts';
import { outputTail, writeDurableFile } from '../file/files.ts';
import { describeExit, type Programs, runProgram } from '../process/programs.ts';
import type { BlobstoreSettings } from '../settings/settings.ts';
import type { RemoteBlobstore } from './remote-blobstore.ts';

export interface BlobstorePrograms {
  readonly programs: Programs;
  readonly clock: Clock;
  readonly directories: Directories;
}

const searchPath = ['/var/vcap/bosh/bin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/**
 * A blobstore that the program `bosh-blobstore-PROVIDER` reaches: `-c CONFIG get ID PATH` and
 * `-c CONFIG put PATH ID` (bosh-utils: blobstore/external_blobstore.go).
 */
export class ProgramBlobstore implements RemoteBlobstore {
  readonly #settings: BlobstoreSettings;
  readonly #ports: BlobstorePrograms;

  /** Throws AGENT_SETTINGS_INVALID unless the provider is one plain name, because it becomes a file name. */
  constructor(settings: BlobstoreSettings, ports: BlobstorePrograms) {
    if (!/^[a-z0-9][a-z0-9-]{0,62}$/u.test(settings.provider))
      throw new ProductError(
        'AGENT_SETTINGS_INVALID',
        'the provider of the blobstore must be a name of lower case letters, digits and "-"',
      );
    this.#settings = settings;
    this.#ports = ports;
  }

  get(id: string, path: string): Promise<void> {
    return this.#run('get', [id, path]);
  }

  put(id: string, path: string): Promise<void> {
    return this.#run('put', [path, id]);
  }

  async #run(action: string, args: readonly string[]): Promise<void> {
    const name = `bosh-blobstore-${this.#settings.provider}`;
    const file = await findProgram(name);
    const config = await this.#writeConfig();
    const output = join(this.#ports.directories.temporary, `${name}-${randomUUID()}`);
    try {
      await using stderr = await open(output, 'wx', 0o600);
      const exit = await runProgram(
        this.#ports,
        {
          file,
          arguments: ['-c', config, action, ...args],
          environment: { PATH: searchPath.join(':') },
          ...{ stdout: stderr.fd, stderr: stderr.fd },
        },
        new AbortController().signal,
      );
      if (exit.code === 0) return;
      const text = (await outputTail(output)).text.trim();
      throw new ProductError('AGENT_BLOBSTORE_FAILED', `${name} ${action} ${describeExit(exit)}: ${text}`);
    } finally {
      await rm(output, { force: true });
    }
  }

  async #writeConfig(): Promise<string> {
    const directory = join(this.#ports.directories.bosh, 'etc');
    await mkdir(directory, { recursive: true, mode: 0o755 });
    const path = join(directory, `blobstore-${this.#settings.provider}.json`);
    await writeDurableFile(path, JSON.stringify(this.#settings.options));
    return path;
  }
}

async function findProgram(name: string): Promise<string> {
  for (const directory of searchPath) {
    const path = join(directory, name);
    try {
      await access(path, constants.X_OK);
      return path;
    } catch (error) {
      if (
        !(
          error instanceof Error &&
          'code' in error &&
          ['ENOENT', 'EACCES', 'ENOTDIR'].includes(String(error.code))
        )
      )
        throw error;
    }
  }
  throw new ProductError(
    'AGENT_BLOBSTORE_FAILED',
    `the blobstore needs the program ${name}, and it is in none of ${searchPath.join(', ')}: use a stemcell that has it`,
  );
}
