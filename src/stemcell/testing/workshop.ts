import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { convertStemcell } from '../convert-stemcell.ts';
import type { PublishedStemcell } from '../write-stemcell.ts';

/** Returns a digest as registries and layouts write it. */
export const digestOf = (bytes: Uint8Array): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** A directory with sources, and functions that convert them into stemcells beside them. */
export interface Workshop {
  readonly directory: string;
  /** The warnings of all conversions. */
  readonly warnings: readonly string[];
  readonly convert: (
    source: string,
    more?: {
      operatingSystem?: string;
      image?: string;
      output?: string;
      architecture?: 'arm64';
      isArchitectureRequired?: boolean;
      reference?: string;
    },
  ) => Promise<PublishedStemcell>;
  /** Expects the conversion to fail with this error and to leave nothing behind. */
  readonly fails: (
    source: string,
    expected: { code: string; message: RegExp },
    operatingSystem?: string,
  ) => Promise<void>;
}

export async function workshop(t: TestContext): Promise<Workshop> {
  const directory = await scratchDirectory(t);
  const warnings: string[] = [];
  const warn = (sentence: string): void => void warnings.push(sentence);
  const convert: Workshop['convert'] = (source, { output = 'out', ...more } = {}) =>
    convertStemcell({
      ...{ source, output: join(directory, output), architecture: 'amd64', epoch: 0, signal: t.signal },
      warn,
      ...more,
    });
  return {
    directory,
    warnings,
    convert,
    async fails(source, expected, operatingSystem) {
      const before = await readdir(directory);
      const options = operatingSystem === undefined ? {} : { operatingSystem };
      await assert.rejects(convert(source, options), expected, String(expected.message));
      assert.deepEqual(await readdir(directory), before);
    },
  };
}
