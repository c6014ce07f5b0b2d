import type { MonitTest } from '../../bosh/monit/monit-service.ts';
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { availableParallelism, loadavg, totalmem } from 'node:os';
import { errorCode, errorMessage } from '../file/error-code.ts';
import { openPlainFile } from '../file/directory-handle.ts';

export type ConnectionTest = Extract<MonitTest, { kind: 'connection' }>;

/** The facts about the machine that rules check, besides its processes. */
export interface Probes {
  /** Returns undefined if the path is not a plain file. */
  file(path: string): Promise<{ readonly changedAt: number } | undefined>;
  /** Returns the digest of a file's content. Throws if the file cannot be read safely. */
  checksum(path: string): Promise<string>;
  /** Connects, and sends the request if the test has one. Returns the error, or undefined on success. */
  connect(test: ConnectionTest): Promise<string | undefined>;
  /** The load averages of 1, 5 and 15 minutes. */
  loadAverages(): readonly number[];
  readonly memoryKilobytes: number;
  readonly processors: number;
}

const checksumLimit = 1024 ** 3;

/** The probes of this machine. */
export const systemProbes: Probes = {
  async file(path) {
    try {
      const stats = await stat(path);
      return stats.isFile() ? { changedAt: Math.max(stats.mtimeMs, stats.ctimeMs) } : undefined;
    } catch (error) {
      if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errorCode(error) ?? '')) return undefined;
      throw error;
    }
  },

  async checksum(path) {
    await using file = await openPlainFile(path, 'read');
    if ((await file.stat()).size > checksumLimit) throw new Error(`${path} is larger than 1 GiB`);
    const hash = createHash('sha256');
    for await (const chunk of file.createReadStream({ autoClose: false, end: checksumLimit }))
      hash.update(chunk);
    return hash.digest('hex');
  },

  connect: (test) => (test.request === undefined ? tryConnection(test) : tryRequest(test, test.request)),

  loadAverages: loadavg,
  memoryKilobytes: totalmem() / 1024,
  processors: availableParallelism(),
};

function tryConnection({ target, timeoutSeconds }: ConnectionTest): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(target);
    const end = (problem: string | undefined): void => {
      socket.destroy();
      resolve(problem);
    };
    socket.once('connect', () => end(undefined));
    socket.once('error', (error) => end(errorMessage(error)));
    socket.setTimeout(timeoutSeconds * 1000, () => end(`no connection within ${timeoutSeconds} seconds`));
  });
}

function tryRequest({ target, timeoutSeconds }: ConnectionTest, path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const address = 'path' in target ? { socketPath: target.path } : target;
    const call = request({
      ...address,
      path,
      agent: false,
      signal: AbortSignal.timeout(timeoutSeconds * 1000),
    });
    const end = (problem: string | undefined): void => {
      call.destroy();
      resolve(problem);
    };
    call.once('response', ({ statusCode = 0 }) => {
      end(statusCode < 400 ? undefined : `the response has status ${statusCode}`);
    });
    call.on('error', (error) => {
      const isLate = error.name === 'AbortError' || error.name === 'TimeoutError';
      end(isLate ? `no response within ${timeoutSeconds} seconds` : errorMessage(error));
    });
    call.end();
  });
}
