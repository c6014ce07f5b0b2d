import { ConfigErrors, rootField } from '../../bosh/yaml/yaml-field.ts';
import { parseYaml } from '../../bosh/yaml/parse-yaml.ts';
import { ProductError } from '../../errors/product-error.ts';

/** The used properties of a heavy stemcell's stemcell.MF (bosh-cli: stemcell/manifest.go). */
export interface StemcellManifest {
  readonly name: string;
  readonly version: string;
  readonly operatingSystem: string;
  /** The digest of the image; bare hex is SHA-1. */
  readonly digest: string;
}

/** Image formats that are the tar of a root file system. */
const rootFormats: readonly string[] = ['warden-tar', 'general-tar'];

/**
 * Parses stemcell.MF. STEMCELL_INVALID names the problem, for example that the image is the disk of a virtual
 * machine.
 */
export function parseStemcellManifest(text: string): StemcellManifest {
  const problems = new ConfigErrors();
  const root = rootField(parseYaml(text, 'stemcell.MF', 'STEMCELL_INVALID'), problems);
  const manifest = {
    name: root.get('name').requiredSegment(),
    version: root.get('version').requiredSegment(),
    operatingSystem: root.get('operating_system').requiredText(),
    digest: root.get('sha1').requiredText(),
  };
  const formats = root.get('stemcell_formats').texts();
  problems.throwIfAny('STEMCELL_INVALID');
  if (formats.some((format) => format.endsWith('-light')))
    throw new ProductError('STEMCELL_INVALID', 'is a light stemcell: its image is already in a registry');
  if (formats.length > 0 && !formats.some((format) => rootFormats.includes(format)))
    throw new ProductError(
      'STEMCELL_INVALID',
      `is a stemcell of format ${formats.join(', ')}, not for containers; take the one for warden (bosh-warden-boshlite)`,
    );
  return manifest;
}
