import { createHash } from 'node:crypto';
import { type Stats, createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pluginType } from '../plugin/config.ts';
import { copyAtomic } from './durable.ts';

/**
 * The executable that is copied to the node. It has 100 MB, so an unchanged copy is not read again every
 * time.
 */
export class Executable {
  readonly #source: string;
  /** Identifies the file that was last found equal. */
  #compared = '';

  constructor(source: string) {
    this.#source = source;
  }

  /** Copies the executable into the directory of the plugins unless the same bytes are there already. */
  async install(directory: string): Promise<void> {
    const target = join(directory, pluginType);
    if (await this.isSame(directory)) {
      if (this.#compared === identity(await stat(target))) return;
      const [installed, theirs] = await Promise.all([digestOf(this.#source), digestOf(target)]);
      if (installed !== theirs) await copyAtomic(this.#source, directory, pluginType);
    } else await copyAtomic(this.#source, directory, pluginType);
    this.#compared = identity(await stat(target));
  }

  /** True if an executable file of the same size exists there. This check is cheap. */
  async isSame(directory: string): Promise<boolean> {
    const [ours, theirs] = await Promise.all([stat(this.#source), statOf(join(directory, pluginType))]);
    return theirs?.isFile() === true && ours.size === theirs.size && (theirs.mode & 0o777) === 0o755;
  }
}

const identity = ({ ino, mtimeMs, size }: Stats): string => `${ino} ${mtimeMs} ${size}`;

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
