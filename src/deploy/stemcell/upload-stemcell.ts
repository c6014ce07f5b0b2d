import { ProductError, isProductError } from '../../errors/product-error.ts';
import { withContext } from '../../platform/error-chain.ts';
import type { Run } from '../session.ts';
import type { Stage, Step } from '../stage/stage.ts';
import type { StemcellRecord } from '../state/deployment-state.ts';
import { forgetStemcell, recordStemcell } from '../state/state-changes.ts';

/** A stemcell that is available on this machine. */
export interface LocalStemcell {
  readonly name: string;
  readonly version: string;
  readonly apiVersion: number;
  /** Empty if the stemcell names none. */
  readonly formats: readonly string[];
  readonly cloudProperties: Readonly<Record<string, unknown>>;
}

/**
 * Throws CPI_NOT_USABLE unless CPI, stemcell and deployer are compatible. Nothing has been changed at this
 * point.
 */
export async function checkCpi({ cloud }: Run, stemcell: LocalStemcell): Promise<void> {
  const info = await withContext('Error getting CPI info', () => cloud.info());
  if (info.apiVersion < 2) {
    throw unusable(`The deployer requires CPI v2.0 or greater, the CPI has ${info.apiVersion}`);
  }
  const shown = `${stemcell.name}/${stemcell.version}`;
  if (stemcell.apiVersion < 2) {
    throw unusable(
      `The deployer requires a stemcell of api_version 2 or greater, '${shown}' has ${stemcell.apiVersion}`,
    );
  }
  const { formats } = stemcell;
  if (formats.length === 0 || info.stemcellFormats.length === 0) return;
  if (formats.some((format) => info.stemcellFormats.includes(format))) return;
  throw unusable(
    `The CPI takes stemcells of format ${info.stemcellFormats.join(', ')}, but '${shown}' is ${formats.join(', ')}; choose another stemcell`,
  );
}

/**
 * Uploads the stemcell through the CPI unless the state file has it with the same name, version and, for a
 * light one, image.
 */
export async function uploadStemcell(
  run: Run,
  stage: Stage,
  stemcell: LocalStemcell,
  imagePath: () => Promise<string>,
): Promise<StemcellRecord> {
  const { name, version, apiVersion, cloudProperties } = stemcell;
  return stage.perform(`Uploading stemcell '${name}/${version}'`, async (step) => {
    const { stemcells } = run.state.state;
    const known = stemcells.find((record) => isSameStemcell(record, stemcell));
    if (known !== undefined) {
      step.skip('Stemcell already uploaded');
      return known;
    }
    const previous = stemcells.find((record) => record.name === name && record.version === version);
    const image = stemcellImage(stemcell);
    if (previous !== undefined)
      run.warn(
        `Stemcell '${name}/${version}' names another image than when it was uploaded: ${previous.image}, now ${image ?? 'none'}; ` +
          'it is uploaded again, and the VM is created from the new image',
      );
    const cid = await withContext(`creating stemcell (${name} ${version})`, async () =>
      run.cloud.createStemcell(await imagePath(), cloudProperties),
    );
    // There is one stemcell for a cid. A second record of it would be deleted as unused.
    const id = stemcells.find((record) => record.cid === cid)?.id ?? run.uuid();
    const record = { id, name, version, api_version: apiVersion, cid, ...(image !== undefined && { image }) };
    await run.state.change(recordStemcell(record));
    return record;
  });
}

/** Deletes every recorded stemcell that no VM uses. */
export async function deleteUnusedStemcells(run: Run, stage: Stage): Promise<void> {
  const { stemcells, current_stemcell_id: current } = run.state.state;
  for (const stemcell of stemcells.filter(({ id }) => id !== current)) {
    await stage.perform(`Deleting unused stemcell '${stemcell.cid}'`, (step) =>
      deleteStemcell(run, stemcell, step),
    );
  }
}

/** Deletes the stemcell and its record. Skips a stemcell that is already deleted. */
export async function deleteStemcell(run: Run, stemcell: StemcellRecord, step: Step): Promise<void> {
  await run.cloud.deleteStemcell(stemcell.cid).catch((error: unknown) => {
    if (!isProductError(error, 'STEMCELL_NOT_FOUND')) throw error;
    step.skip('Stemcell not found');
  });
  await run.state.change(forgetStemcell(stemcell.id));
}

function unusable(message: string): ProductError {
  return new ProductError('CPI_NOT_USABLE', `${message}. Nothing was changed`);
}

/** Distinguishes a stemcell from others. */
export interface StemcellIdentity {
  readonly name: string;
  readonly version: string;
  readonly cloudProperties: Readonly<Record<string, unknown>>;
}

/**
 * Returns the image that a light stemcell names (`image_reference` and `digest` of its cloud_properties),
 * without the tag if there is a digest. Returns undefined for a heavy stemcell.
 */
export function stemcellImage({ cloudProperties }: StemcellIdentity): string | undefined {
  const { image_reference: reference, digest } = cloudProperties;
  if (typeof reference !== 'string') return undefined;
  if (typeof digest !== 'string') return reference;
  return `${reference.replace(/(?::[^:/@]+)?(?:@[^@]+)?$/u, '')}@${digest}`;
}

/**
 * Returns true if the record belongs to the stemcell. A record without an image, as the bosh CLI writes it,
 * is compared by name and version.
 */
export function isSameStemcell(record: StemcellRecord, stemcell: StemcellIdentity): boolean {
  return (
    record.name === stemcell.name &&
    record.version === stemcell.version &&
    (record.image === undefined || record.image === stemcellImage(stemcell))
  );
}
