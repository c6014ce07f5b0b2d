import { chmod, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import type { Volume } from '../../../src/kubernetes/types/pod.ts';
import { VolumeError } from './volume-error.ts';
import { writeFile } from '../../../src/platform/write-file.ts';

type Projection = NonNullable<Volume['secret'] | Volume['configMap']>;

export interface ProjectedFile {
  readonly path: string;
  readonly content: Uint8Array;
  readonly mode: number;
}

function checkPath(path: string): string {
  const plain = path !== '' && !posix.isAbsolute(path) && !path.split('/').includes('..');
  if (!plain) {
    throw new VolumeError(`a key cannot be projected to ${JSON.stringify(path)}`);
  }
  return path;
}

/** Returns the files of a secret or configMap volume: all keys, or the listed items (core/v1 types). */
export function projectFiles(
  source: Pick<Projection, 'items' | 'defaultMode' | 'optional'>,
  data: ReadonlyMap<string, Uint8Array>,
): ProjectedFile[] {
  const defaultMode = source.defaultMode ?? 0o644;
  const items = source.items ?? [...data.keys()].map((key) => ({ key, path: key }));
  return items.flatMap((item) => {
    const content = data.get(item.key);
    if (content === undefined) {
      if (source.optional === true) {
        return [];
      }
      throw new VolumeError(`references non-existent secret or config key: ${item.key}`);
    }
    const mode = 'mode' in item && typeof item.mode === 'number' ? item.mode : undefined;
    return [{ path: checkPath(item.path), content, mode: mode ?? defaultMode }];
  });
}

/** Writes the files below this directory, each file whole or not at all. */
export async function writeProjectedFiles(directory: string, files: readonly ProjectedFile[]): Promise<void> {
  for (const file of files) {
    const path = join(directory, file.path);
    await mkdir(dirname(path), { recursive: true });
    const temporary = `${path}.writing`;
    await rm(temporary, { force: true });
    await writeFile(temporary, file.content, { mode: 0o600 });
    await chmod(temporary, file.mode);
    await rename(temporary, path);
  }
}
