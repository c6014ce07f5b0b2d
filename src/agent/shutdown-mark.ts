import { join } from 'node:path';
import type { Directories } from './directories.ts';
import { exists, writeDurableFile } from './file/files.ts';

/**
 * The file bosh/shutdown: the director has shut the VM down. The agent's process stays, because Kubernetes
 * would start the container again, but it starts no job and speaks to no bus until the VM is deleted.
 */
export class ShutdownMark {
  readonly #path: string;

  constructor(directories: Directories) {
    this.#path = join(directories.bosh, 'shutdown');
  }

  isSet(): Promise<boolean> {
    return exists(this.#path);
  }

  async set(): Promise<void> {
    await writeDurableFile(this.#path, '');
  }
}
