export interface LightStemcell {
  readonly name: string;
  readonly version: string;
  readonly operatingSystem: string;
  /** Default 3. */
  readonly apiVersion?: number;
  /** Default `['docker-light']`. */
  readonly formats?: readonly string[];
  /** The OCI reference that the node pulls. */
  readonly imageReference: string;
  /** `sha256:<hex>` of the image's manifest. */
  readonly imageDigest?: string;
  /** Merged over what the fields above give. */
  readonly cloudProperties?: Readonly<Record<string, unknown>>;
}

/** Writes a light stemcell archive: stemcell.MF and an empty image. Same input, same bytes. Resolves with its digest. */
export async function packLightStemcell(
  stemcell: LightStemcell,
  outFile: string,
): Promise<{ digest: string }> {
  throw new Error(`packLightStemcell is not written yet (${stemcell.name}, ${outFile})`);
}
