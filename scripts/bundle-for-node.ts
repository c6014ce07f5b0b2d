import { rename } from 'node:fs/promises';
import { build, type BuildOptions, type Metafile } from 'esbuild';
import { packagesAmong } from './write-notices.ts';

/** What differs from one bundle to another; absent: CommonJS, as it stands. */
export type BundleOptions = Pick<BuildOptions, 'format' | 'minify' | 'external' | 'banner' | 'plugins'>;

/**
 * Makes one file for the pinned Node of a program's sources, and replaces `outFile` whole, as one may start
 * meanwhile. Resolves with the packages that are in it.
 */
export async function bundleForNode(
  entry: string,
  outFile: string,
  options: BundleOptions = {},
): Promise<readonly string[]> {
  const { metafile } = await build({ ...asBundle(entry), outfile: `${outFile}.partial`, ...options });
  await rename(`${outFile}.partial`, outFile);
  return packagesIn(metafile);
}

/** The packages that a program's sources bring into what is made of them by another bundler. Writes nothing. */
export async function packagesOf(entry: string): Promise<readonly string[]> {
  const { metafile } = await build({ ...asBundle(entry), write: false });
  return packagesIn(metafile);
}

const asBundle = (entry: string) =>
  ({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    logLevel: 'warning',
    metafile: true,
  }) as const satisfies BuildOptions;

const packagesIn = ({ outputs }: Metafile): readonly string[] =>
  packagesAmong(Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs)));
