import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { temporaryPath, removeTemporaryFiles } from '../../platform/durable-file.ts';
import { fileNotFound } from '../archive/open-for-reading.ts';
import { readText } from './agent-tasks.ts';
import { archiveLimits, limitedTo } from '../archive/archive-limits.ts';
import type { Clock } from '../../platform/clock.ts';
import type { MbusConnection } from './mbus-connection.ts';
import type { OnBytes } from '../../platform/live-progress.ts';
import { writing } from '../../platform/write-file.ts';

const attempts = 3;
const pause = 1000;
/** How many characters of the agent's message about a rejected blob an error shows. */
const maxTextLength = 1000;
const idleTimeoutMs = 120_000;
/** Timeout of a whole blob, in milliseconds. 16 GiB in this time need 1.2 MB/s. */
const deadline = 4 * 3_600_000;

/** The blobstore that an agent serves beside its methods (bosh-cli: blobstore/, davcli: client/client.go). */
export class AgentBlobs {
  readonly #connection: MbusConnection;
  readonly #clock: Pick<Clock, 'sleep'>;

  readonly #maxBytes: number;

  constructor(
    connection: MbusConnection,
    clock: Pick<Clock, 'sleep'>,
    maxBytes: number = archiveLimits.total,
  ) {
    this.#maxBytes = maxBytes;
    this.#connection = connection;
    this.#clock = clock;
  }

  /** Uploads the file under that id. Makes up to three attempts. */
  async put(id: string, path: string, onBytes?: OnBytes): Promise<void> {
    const { size } = await stat(path).catch((error: unknown) => {
      throw fileNotFound(path, error) ?? error;
    });
    await this.#retry(() => {
      const stream = createReadStream(path, { highWaterMark: 1 << 18 });
      const body = { stream, length: size, onBytes };
      const request = { method: 'PUT', path: blobPath(id), body, idleTimeoutMs, deadline } as const;
      return this.#connection.send(request, async (answer) => {
        if (answer.statusCode === 201 || answer.statusCode === 204) return;
        throw this.#error('PUT', id, answer.statusCode, await readText(answer, maxTextLength));
      });
    });
  }

  /** Downloads the blob. The file appears complete or not at all. Makes up to three attempts. */
  async get(id: string, path: string): Promise<void> {
    removeTemporaryFiles(path);
    await this.#retry(() => this.#download(id, path));
  }

  async #download(id: string, path: string): Promise<void> {
    const unfinished = temporaryPath(path);
    try {
      const request = { method: 'GET', path: blobPath(id), idleTimeoutMs, deadline } as const;
      await this.#connection.send(request, async (answer) => {
        if (answer.statusCode !== 200) throw this.#error('GET', id, answer.statusCode);
        const limited = limitedTo(this.#maxBytes, (excess) => this.#tooLong(id, excess));
        const file = createWriteStream(unfinished, { flags: 'wx', mode: 0o600, flush: true });
        await writing(unfinished, () => pipeline(answer, limited, file));
      });
      await rename(unfinished, path);
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  }

  async #retry(action: () => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await action();
      } catch (error) {
        if (!isProductError(error, 'AGENT_UNREACHABLE') || attempt === attempts) throw error;
        await this.#clock.sleep(pause);
      }
    }
  }

  #tooLong(id: string, excess: string): ProductError {
    const { address } = this.#connection;
    return new ProductError('AGENT_ERROR', `The agent at ${address} sends ${excess} as blob '${id}'`);
  }

  #error(method: string, id: string, status: number | undefined, output = ''): ProductError {
    return new ProductError(
      'AGENT_ERROR',
      `The agent at ${this.#connection.address} answered ${method} of blob '${id}' with HTTP status ${status}${output === '' ? '' : `: ${output}`}`,
    );
  }
}

/**
 * Agents read only the last path element. The element before it is davcli's: the first byte of the id's
 * SHA-1.
 */
function blobPath(id: string): string {
  return `/blobs/${createHash('sha1').update(id).digest('hex').slice(0, 2)}/${encodeURIComponent(id)}`;
}
