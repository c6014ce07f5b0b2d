import { archiveLimits, EntryCounter, limitedTo, printableName } from '../../bosh/archive/archive-limits.ts';
import type { ArchiveLimits } from '../../bosh/archive/archive-limits.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { rootPath, RootRules } from './root-rules.ts';
import type { TarHeader } from './tar-header.ts';
import { tarInvalid } from './tar-header.ts';
import { TarReader, type TakeContent } from './tar-reader.ts';

export interface RootTarOptions {
  /**
   * Called with each entry of the tar and its path, without a leading `./` or a trailing `/`. A function that
   * it returns receives the entry's content, which is kept in memory until then.
   */
  readonly onEntry?: ((path: string, entry: TarHeader) => TakeContent | undefined) | undefined;
  /** A layer over others: it may delete files of them (image-spec, layer.md, whiteouts). */
  readonly isUpper?: boolean;
  /** Default: archiveLimits. */
  readonly limits?: ArchiveLimits;
}

/**
 * Passes the tar of a root file system on and checks it at the same time. Throws ARCHIVE_INVALID, naming
 * `label` and the entry, for:
 * - names that are absolute or lead out of the root, and entries below a symbolic link;
 * - hard links to outside, to below a symbolic link or, unless the layer is an upper one, to a file that is
 *   not before them;
 * - device nodes other than those of every container;
 * - names that an image layer reads as deletions;
 * - sparse files, a tar that is damaged or truncated, and a tar beyond the limits.
 * Symbolic links may point anywhere: they are followed inside the root only.
 */
export async function* checkRootTar(
  source: AsyncIterable<Uint8Array>,
  label: string,
  { onEntry, isUpper = false, limits = archiveLimits }: RootTarOptions = {},
): AsyncGenerator<Uint8Array> {
  const rules = new RootRules(isUpper);
  const counter = new EntryCounter(limits);
  const limited = limitedTo(limits.total, (excess) => tarInvalid(`it unpacks to ${excess}`));
  const reader = new TarReader((entry) => {
    const beyond = counter.add(entry.name, entry.target);
    if (beyond !== undefined) throw tarInvalid(`its entry '${printableName(entry.name)}' ${beyond}`);
    rules.admit(entry);
    return onEntry?.(rootPath(entry.name), entry);
  });
  try {
    for await (const chunk of limited(source)) {
      reader.write(chunk);
      yield chunk;
    }
    reader.end();
  } catch (error) {
    if (!isProductError(error, 'ARCHIVE_INVALID')) throw error;
    throw new ProductError(error.code, `${label}: ${error.message}`, { cause: error });
  }
}
