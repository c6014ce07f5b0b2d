import { stringify } from 'yaml';
import { packArchive } from '../archive/pack-archive.ts';
import { digestOfFile } from '../digest.ts';

export interface LightStemcell {
  readonly name: string;
  readonly version: string;
  readonly operatingSystem: string;
  /** `['docker-light']` by default. */
  readonly formats?: readonly string[];
  /** The OCI reference that the node pulls. */
  readonly imageReference: string;
  /** `sha256:<hex>` of the image's manifest. */
  readonly imageDigest?: string;
  /** Overrides the values of the fields above. */
  readonly cloudProperties?: Readonly<Record<string, unknown>>;
}

const sha1OfNothing = 'da39a3ee5e6b4b0d3255bfef95601890afd80709';

/**
 * Writes a light stemcell archive: stemcell.MF and an empty image. The same input gives the same bytes.
 * Returns its digest.
 */
export async function packLightStemcell(
  stemcell: LightStemcell,
  outFile: string,
): Promise<{ digest: string }> {
  const { name, version, operatingSystem, imageReference, imageDigest } = stemcell;
  const cloudProperties = {
    image_reference: imageReference,
    ...(imageDigest === undefined ? {} : { digest: imageDigest }),
    ...stemcell.cloudProperties,
  };
  const manifest = {
    name,
    version,
    api_version: 3,
    bosh_protocol: 1,
    sha1: sha1OfNothing,
    operating_system: operatingSystem,
    stemcell_formats: stemcell.formats ?? ['docker-light'],
    cloud_properties: cloudProperties,
  };
  await packArchive(
    [
      {
        kind: 'content',
        name: 'stemcell.MF',
        mode: 0o644,
        content: stringify(manifest, { version: '1.1', lineWidth: 0 }),
      },
      { kind: 'content', name: 'image', mode: 0o644, content: '' },
    ],
    outFile,
  );
  return { digest: await digestOfFile(outFile) };
}
