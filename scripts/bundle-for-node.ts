import { rename } from 'node:fs/promises';
import { build, type BuildOptions } from 'esbuild';
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
  const { metafile } = await build({
    entryPoints: [entry],
    outfile: `${outFile}.partial`,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    logLevel: 'warning',
    metafile: true,
    ...options,
  });
  await rename(`${outFile}.partial`, outFile);
  return packagesAmong(Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs)));
}
