import { rename } from 'node:fs/promises';
import { build, type BuildOptions, type Metafile } from 'esbuild';
import { packagesAmong } from './write-notices.ts';

/** Options that differ between bundles. Default: CommonJS without changes. */
export type BundleOptions = Pick<BuildOptions, 'format' | 'minify' | 'external' | 'banner' | 'plugins'>;

/**
 * Bundles a program's sources into one file for the pinned Node, and replaces `outFile` atomically, because
 * the program may start during the build. Returns the packages in the bundle.
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

/** Returns the packages that the sources of programs use, as writeNotices takes them. Writes nothing. */
export async function packagesOf(...entries: readonly string[]): Promise<readonly string[]> {
  const { metafile } = await build({
    ...asBundle(...entries),
    format: 'esm',
    write: false,
    outdir: 'unused',
  });
  return packagesIn(metafile);
}

const asBundle = (...entryPoints: string[]) =>
  ({
    entryPoints,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    logLevel: 'warning',
    metafile: true,
  }) as const satisfies BuildOptions;

const packagesIn = ({ outputs }: Metafile): readonly string[] =>
  packagesAmong(Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs)));
