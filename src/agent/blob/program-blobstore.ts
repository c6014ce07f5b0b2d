import { constants } from 'node:fs';
import { access, mkdir, open, rm } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { redactor } from '../../errors/redact/redactor.ts';
import { dropFirstWord, oneLine, truncateAtWord } from '../../errors/text.ts';
import type { JsonObject } from '../../platform/json.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Directories } from '../directories.ts';
import { errorCode } from '../file/error-code.ts';
import { outputTail, writeDurableFile } from '../file/files.ts';
import { describeExit, type Programs, runAgentProgram } from '../process/programs.ts';
import type { BlobstoreSettings } from '../settings/settings.ts';
import type { RemoteBlobstore } from './remote-blobstore.ts';

export interface BlobstorePrograms {
  readonly programs: Programs;
  readonly clock: Clock;
  readonly directories: Directories;
  /** How long one run of a blobstore's program may take, in milliseconds. The other tasks wait for it. */
  readonly timeoutMs?: number;
}

/** Long enough for some GB over a slow network. */
const defaultTimeoutMs = 30 * 60_000;
/** In characters. */
const outputLimit = 1000;
const systemPath = ['/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

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
    const searchPath = [join(this.#ports.directories.bosh, 'bin'), ...systemPath];
    const file = await findProgram(name, searchPath);
    const config = await this.#writeConfig();
    const output = join(this.#ports.directories.temporary, `${name}-${randomUUID()}`);
    const { timeoutMs = defaultTimeoutMs } = this.#ports;
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      await using stderr = await open(output, 'wx', 0o600);
      const exit = await runAgentProgram(
        this.#ports,
        {
          file,
          arguments: ['-c', config, action, ...args],
          environment: { PATH: searchPath.join(':') },
          // Job users must not read a blob: rendered templates have secrets.
          umask: 0o077,
          ...{ stdout: stderr.fd, stderr: stderr.fd },
        },
        timeout,
      );
      if (exit.code === 0) return;
      const printed = withoutSecrets(await outputTail(output), this.#settings.options);
      const [ending, step] = timeout.aborted
        ? [`did not end within ${timeoutMs / 1000} s`, 'check that the blobstore is reachable from this VM']
        : [describeExit(exit), 'check the options of the blobstore'];
      throw new ProductError(
        'AGENT_BLOBSTORE_FAILED',
        `${name} ${action} ${ending}; it printed: ${printed}; ${step}`,
      );
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

/** Returns one line of a program's output. The program knows all options, and may print them. */
function withoutSecrets(
  { text, isTruncated }: { readonly text: string; readonly isTruncated: boolean },
  options: JsonObject,
): string {
  const whole = redactor(options)(isTruncated ? dropFirstWord(text) : text);
  const line = oneLine(whole.trim().replaceAll(/\s+/gu, ' '));
  return line === '' ? 'nothing' : truncateAtWord(line, outputLimit);
}

async function findProgram(name: string, searchPath: readonly string[]): Promise<string> {
  for (const directory of searchPath) {
    const path = join(directory, name);
    try {
      await access(path, constants.X_OK);
      return path;
    } catch (error) {
      if (!['ENOENT', 'EACCES', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw error;
    }
  }
  throw new ProductError(
    'AGENT_BLOBSTORE_FAILED',
    `the blobstore needs the program ${name}, and it is in none of ${searchPath.join(', ')}: use a stemcell that has it`,
  );
}
