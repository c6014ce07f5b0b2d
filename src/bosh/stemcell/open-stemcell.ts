import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { ImageTarGuess, imageTarProblem } from '../archive/image-tar.ts';
import { openForReading } from '../archive/open-for-reading.ts';
import { unpackArchive } from '../archive/unpack-archive.ts';
import { verifyFile } from '../digest.ts';
import { ConfigErrors, rootField } from '../yaml/yaml-field.ts';
import { readYaml } from '../yaml/parse-yaml.ts';
import type { Stemcell } from './stemcell.ts';

export interface OpenStemcellOptions {
  readonly archivePath: string;
  /** The verified digest of the archive. It is verified again while unpacking. */
  readonly digest?: string | undefined;
  /** Created if it does not exist; its content is replaced. The caller removes it. */
  readonly directory: string;
  /**
   * The directory that must contain `directory`. Otherwise PATH_OUTSIDE is thrown, so that nothing outside of
   * it is removed.
   */
  readonly within: string;
}

/**
 * Unpacks a stemcell archive (bosh-cli: stemcell/reader.go). Throws STEMCELL_INVALID, ARCHIVE_INVALID or
 * FILE_NOT_FOUND with the archive and the cause. Verifies the image's own sha1 unless the image is empty: a
 * stemcell that was repacked with an empty image keeps the sha1 of the previous one.
 */
export async function openStemcell({
  archivePath,
  digest,
  directory,
  within,
}: OpenStemcellOptions): Promise<Stemcell> {
  await removeTree(directory, { within });
  await mkdir(directory, { recursive: true });
  const image = new ImageTarGuess();
  let isImage = true;
  const only = (name: string): boolean => {
    isImage &&= image.mayHave(name);
    return name === 'stemcell.MF' || name === 'image';
  };
  await unpackArchive(archivePath, directory, { digest, only });
  if (isImage && image.kind !== undefined)
    throw new ProductError(
      'STEMCELL_INVALID',
      `${imageTarProblem(image.kind, archivePath)}; then make a stemcell of the folder: bosh-kubernetes stemcell build --from layout --output FOLDER`,
    );
  try {
    return await readStemcell(directory);
  } catch (error) {
    if (!(error instanceof ProductError)) throw error;
    throw new ProductError(error.code, `Stemcell '${archivePath}': ${error.message}`, { cause: error });
  }
}

async function readStemcell(directory: string): Promise<Stemcell> {
  const problems = new ConfigErrors();
  const root = rootField(await readYaml(join(directory, 'stemcell.MF'), 'STEMCELL_INVALID'), problems);
  const imagePath = join(directory, 'image');
  const operatingSystem = root.get('operating_system').text();
  const stemcell = {
    name: root.get('name').requiredSegment(),
    version: root.get('version').requiredSegment(),
    apiVersion: root.get('api_version').integer() ?? 1,
    formats: root.get('stemcell_formats').texts(),
    ...(operatingSystem === undefined ? {} : { operatingSystem }),
    cloudProperties: root.get('cloud_properties').properties(),
    imagePath,
  };
  const digest = root.get('sha1').text();
  problems.throwIfAny('STEMCELL_INVALID');
  await using image = await openForReading(imagePath);
  const { size } = await image.stat();
  if (size > 0 && digest !== undefined) await verifyFile(imagePath, digest);
  return stemcell;
}
