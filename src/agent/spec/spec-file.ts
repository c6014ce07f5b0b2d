import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { Directories } from '../directories.ts';
import { readFileIfPresent, writeDurableFile } from '../file/durable-file.ts';
import { isObject } from '../settings/json.ts';
import { parseApplySpec } from './apply-spec.ts';
import type { ApplySpec } from './apply-spec.ts';

/**
 * The last spec that was applied completely, in bosh/spec.json (mode 0600, because it may contain
 * properties).
 */
export class SpecFile {
  readonly #path: string;

  constructor(directories: Directories) {
    this.#path = join(directories.bosh, 'spec.json');
  }

  /** Returns the spec; an empty one before the first apply. */
  async read(): Promise<ApplySpec> {
    const text = await readFileIfPresent(this.#path);
    const source: unknown = text === undefined ? {} : JSON.parse(text);
    if (isObject(source)) return parseApplySpec(source);
    throw new ProductError('AGENT_ARGUMENT_INVALID', `${this.#path} is not a JSON object`);
  }

  /** Records a spec. From then on a restart of the VM starts its jobs. */
  async write(spec: ApplySpec): Promise<void> {
    await writeDurableFile(this.#path, JSON.stringify(spec.source));
  }
}
