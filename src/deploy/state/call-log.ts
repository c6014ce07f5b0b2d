import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, writeSync } from 'node:fs';
import { replaceFile } from '../../platform/durable-file.ts';
import { parseJsonObject } from '../../platform/json.ts';
import type { EnvPorts } from '../options.ts';

/** A file with more bytes than this loses its older half: some 3000 calls, which is more than 100 deploys. */
const maxBytes = 1024 * 1024;

export const callLogPathFor = (statePath: string): string => `${statePath}.trace`;

type CallLogPorts = Pick<EnvPorts, 'warn' | 'redact'>;

/**
 * The file beside the state file with the records of the CPI calls, which `bosh-kubernetes trace` draws.
 * A run does not need it, so if it cannot be written, the run continues with a warning and without it.
 */
export class CallLog {
  readonly #path: string;
  readonly #ports: CallLogPorts;
  #isBroken = false;

  constructor(statePath: string, ports: CallLogPorts) {
    this.#path = callLogPathFor(statePath);
    this.#ports = ports;
  }

  /** Removes the older half of a file that has become too long. Not safe beside another run. */
  limit(): void {
    this.#attempt(() => {
      if (!existsSync(this.#path)) return;
      const content = this.#open(constants.O_RDONLY, (file, size) =>
        size > maxBytes ? readFileSync(file) : undefined,
      );
      if (content === undefined) return;
      const half = content.indexOf('\n', content.length - maxBytes / 2);
      replaceFile(this.#path, content.subarray(half + 1));
    });
  }

  append(record: string): void {
    const line = withoutSecrets(record, this.#ports.redact);
    this.#attempt(() => {
      this.#open(constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, (file) =>
        writeSync(file, `${line}\n`),
      );
    });
  }

  /** Opens the file only if it is a regular one of this user: another one may have put a link there. */
  #open<T>(flags: number, use: (file: number, size: number) => T): T {
    const { O_NOFOLLOW, O_NONBLOCK } = constants;
    const file = openSync(this.#path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600);
    try {
      const found = fstatSync(file);
      if (!found.isFile() || found.uid !== process.geteuid?.())
        throw new Error('it is not a regular file of this user');
      return use(file, found.size);
    } finally {
      closeSync(file);
    }
  }

  #attempt(write: () => void): void {
    if (this.#isBroken) return;
    try {
      write();
    } catch (error) {
      this.#isBroken = true;
      const cause = error instanceof Error ? error.message : String(error);
      this.#ports.warn(
        `The records of the CPI calls are not kept, because '${this.#path}' cannot be written (${cause}); the run does not need them. Remove the file, or free space, before you want to trace a run`,
      );
    }
  }
}

/**
 * Redacts the message of a record. The CPI knows the secrets of its configuration and of the VM's env only,
 * and its message may quote another one that the manifest has from a variable. Names and times stay as they
 * are.
 */
function withoutSecrets(line: string, redact: (text: string) => string): string {
  const record = parseJsonObject(line);
  if (record === undefined) return redact(line);
  const { message } = record;
  return typeof message === 'string' ? JSON.stringify({ ...record, message: redact(message) }) : line;
}
