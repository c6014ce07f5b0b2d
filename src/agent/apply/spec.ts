import { ProductError } from '../../errors/product-error.ts';
import { Field } from '../../platform/field.ts';
import { isObject, type JsonObject } from '../../platform/json.ts';
import { join } from 'node:path';
import type { BlobAddress, BlobSource } from '../blob/blobs.ts';
import { parseSignedUrl } from '../blob/signed-url.ts';
import type { Directories } from '../directories.ts';
import { readFileIfPresent, writeDurableFile } from '../file/files.ts';

/** A package in the arguments of apply and compile_package. */
export type PackageSpec = BlobSource & {
  readonly name: string;
  readonly version: string;
};

export interface JobSpec {
  readonly name: string;
  readonly version: string;
}

/**
 * The fields of an apply spec that the agent reads (bosh-agent: agent/applier/applyspec/v1_apply_spec.go).
 */
export interface ApplySpec {
  /** The unchanged spec, which get_state returns. */
  readonly source: JsonObject;
  readonly deployment: string;
  readonly name: string;
  readonly id: string;
  readonly availabilityZone: string;
  readonly configurationHash: string;
  readonly persistentDisk: number;
  /** The size at which logrotate rotates a log of a job. */
  readonly maxLogFileSize: string;
  readonly jobs: readonly JobSpec[];
  readonly packages: readonly PackageSpec[];
  readonly renderedTemplates: (BlobSource & { readonly blobId: string }) | undefined;
}

/** Parses an apply spec. Throws AGENT_ARGUMENT_INVALID if it is invalid. */
export function parseApplySpec(source: JsonObject): ApplySpec {
  const spec = new Field(source, 'spec', 'AGENT_ARGUMENT_INVALID');
  const jobs = spec.get('job').get('templates').list().map(parseJob);
  const renderedTemplates = parseRenderedTemplates(spec.get('rendered_templates_archive'));
  if (jobs.length > 0 && renderedTemplates === undefined)
    throw spec.error('has job templates but no rendered_templates_archive');
  const persistentDisk = spec.get('persistent_disk').value;
  return {
    source,
    deployment: textOrEmpty(spec.get('deployment')),
    name: textOrEmpty(spec.get('name')),
    id: textOrEmpty(spec.get('id')),
    availabilityZone: textOrEmpty(spec.get('az')),
    configurationHash: textOrEmpty(spec.get('configuration_hash')),
    persistentDisk: typeof persistentDisk === 'number' ? persistentDisk : 0,
    maxLogFileSize: parseLogFileSize(spec.get('properties').get('logging').get('max_log_file_size')),
    jobs,
    packages: parsePackages(spec.get('packages')),
    renderedTemplates,
  };
}

/** An empty text is what get_state returns before the first apply, and means the default. */
const parseLogFileSize = (field: Field): string =>
  (field.value ?? '') === ''
    ? '50M'
    : field.stringThat(
        (text) => /^[0-9]{1,12}[kMG]?$/u.test(text),
        "is not a size of logrotate, such as '50M': a whole number, alone or with k, M or G",
      );

/** A package needs an id or a signed URL. compile_package_with_signed_url has another name for the URL. */
function parseBlob(entry: Field): BlobAddress {
  const url = entry.get('signed_url').optional() ?? entry.get('package_get_signed_url');
  const signed = parseSignedUrl(url, entry.get('blobstore_headers'));
  return signed === undefined ? { blobId: entry.get('blobstore_id').nonEmptyString() } : { signed };
}

/** Parses a map of package name to `{name, version, sha1, blobstore_id}`, or with a signed URL for the id. */
export function parsePackages(field: Field): readonly PackageSpec[] {
  return field.entries().map(([, entry]) => ({
    name: parsePathElement(entry.get('name')),
    version: entry.get('version').nonEmptyString(),
    digest: entry.get('sha1').nonEmptyString(),
    ...parseBlob(entry),
  }));
}

/** Returns the name of a job or package. Throws if it is not a single safe path element. */
export function parsePathElement(field: Field): string {
  return field.stringThat(
    (text) => /^[A-Za-z0-9_][A-Za-z0-9._+-]{0,200}$/.test(text),
    "is not a name of letters, digits, '.', '_', '+' and '-'",
  );
}

const parseJob = (job: Field): JobSpec => ({
  name: parsePathElement(job.get('name')),
  version: job.get('version').nonEmptyString(),
});

function parseRenderedTemplates(field: Field): ApplySpec['renderedTemplates'] {
  const blobId = textOrEmpty(field.get('blobstore_id'));
  const digest = textOrEmpty(field.get('sha1'));
  if (blobId === '' || digest === '') return undefined;
  const signed = parseSignedUrl(field.get('signed_url'), field.get('blobstore_headers'));
  return signed === undefined ? { blobId, digest } : { blobId, digest, signed };
}

const textOrEmpty = ({ value }: Field): string => (typeof value === 'string' ? value : '');

/**
 * The last spec that was applied completely, in bosh/spec.json (mode 0600, because it may contain
 * properties).
 */
export class SpecFile {
  readonly #path: string;

  constructor(directories: Directories) {
    this.#path = join(directories.bosh, 'spec.json');
  }

  /** Returns the spec; an empty one before the first apply. */
  async read(): Promise<ApplySpec> {
    const text = await readFileIfPresent(this.#path);
    const source: unknown = text === undefined ? {} : JSON.parse(text);
    if (isObject(source)) return parseApplySpec(source);
    throw new ProductError('AGENT_ARGUMENT_INVALID', `${this.#path} is not a JSON object`);
  }

  /** Records a spec. From then on a restart of the VM starts its jobs. */
  async write(spec: ApplySpec): Promise<void> {
    await writeDurableFile(this.#path, JSON.stringify(spec.source));
  }
}
