import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { parseImageName } from '../../oci/image-reference.ts';
import type { ImageSource } from '../../oci/image-source.ts';
import { openLayout } from '../../oci/layout/open-layout.ts';
import { convertStemcell } from '../convert-stemcell.ts';
import type { Destination } from '../load/destination.ts';
import { loadStemcell } from '../load/load-stemcell.ts';
import { lookAlikeStemcell } from './look-alike.ts';

/** The name of the image that a LoadBench loads. */
export const loadedName = parseImageName('registry.example/stemcells/noble:1.10');

export interface LoadBench {
  readonly directory: string;
  readonly layout: string;
  readonly image: ImageSource;
  readonly load: (destination: Destination, environment?: Record<string, string>) => Promise<void>;
}

/**
 * Creates fake ctr, kind and minikube, which record their arguments and their input, and fail if $FAIL is
 * set.
 */
export async function loadBench(t: TestContext): Promise<LoadBench> {
  const directory = await scratchDirectory(t);
  const bin = join(directory, 'bin');
  await mkdir(bin);
  const script = `#!/bin/sh
printf '%s\\n' "$@" > "$NOTES/words"
if [ -n "\${FAIL:-}" ]; then echo "cannot: $FAIL" >&2; exit 3; fi
for word in "$@"; do if [ -f "$word" ]; then cat "$word" > "$NOTES/archive.tar"; fi; done
cat > "$NOTES/stdin"
`;
  for (const program of ['ctr', 'kind', 'minikube'])
    await writeFile(join(bin, program), script, { mode: 0o755 });
  const source = await lookAlikeStemcell(directory);
  const { layout } = await convertStemcell({
    source,
    output: join(directory, 'stemcell'),
    architecture: 'amd64',
    epoch: 0,
    warn: () => undefined,
    signal: t.signal,
  });
  const image = await openLayout(layout);
  const path = `${bin}${delimiter}${process.env['PATH']}`;
  return {
    directory,
    layout,
    image,
    load: (destination, environment = {}) =>
      loadStemcell(image, loadedName, destination, {
        environment: { PATH: path, NOTES: directory, ...environment },
        signal: t.signal,
      }),
  };
}
