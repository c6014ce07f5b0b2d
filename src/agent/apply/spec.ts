import { ProductError } from '../../errors/product-error.ts';
import { isObject, type JsonObject } from '../../platform/json.ts';
import { join } from 'node:path';
import type { Directories } from '../directories.ts';
import { readFileIfPresent, writeDurableFile } from '../file/files.ts';

/** A package in the arguments of apply and compile_package. */
export interface PackageSpec {
  readonly name: string;
  readonly version: string;
  readonly digest: string;
  readonly blobId: string;
}

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
  readonly jobs: readonly JobSpec[];
  readonly packages: readonly PackageSpec[];
  readonly renderedTemplates: { readonly blobId: string; readonly digest: string } | undefined;
}

/** Parses an apply spec. Throws AGENT_ARGUMENT_INVALID if it is invalid. */
export function parseApplySpec(source: JsonObject): ApplySpec {
  const jobs = parseJobs(source['job']);
  const renderedTemplates = parseRenderedTemplates(source['rendered_templates_archive']);
  if (jobs.length > 0 && renderedTemplates === undefined) {
    throw invalid('it has job templates but no rendered_templates_archive');
  }
  return {
    source,
    deployment: optionalString(source['deployment']),
    name: optionalString(source['name']),
    id: optionalString(source['id']),
    availabilityZone: optionalString(source['az']),
    configurationHash: optionalString(source['configuration_hash']),
    persistentDisk: typeof source['persistent_disk'] === 'number' ? source['persistent_disk'] : 0,
    jobs,
    packages: parsePackages(source['packages'], 'packages'),
    renderedTemplates,
  };
}

/** Parses a map of package name to `{name, version, sha1, blobstore_id}`. `where` names it in errors. */
export function parsePackages(value: unknown, where: string): readonly PackageSpec[] {
  if (value === undefined || value === null) return [];
  if (!isObject(value)) throw invalid(`${where} is not an object`);
  return Object.entries(value).map(([key, entry]) => parsePackage(entry, `${where}.${key}`));
}

/**
 * Returns the name of a job or package if it is a single safe path element. Throws AGENT_ARGUMENT_INVALID
 * otherwise.
 */
export function parsePathElement(value: unknown, where: string): string {
  if (typeof value === 'string' && /^[A-Za-z0-9_][A-Za-z0-9._+-]{0,200}$/.test(value)) return value;
  throw invalid(`${where} is not a name of letters, digits, '.', '_', '+' and '-'`);
}

function parsePackage(value: unknown, where: string): PackageSpec {
  if (!isObject(value)) throw invalid(`${where} is not an object`);
  return {
    name: parsePathElement(value['name'], `${where}.name`),
    version: requiredText(value['version'], `${where}.version`),
    digest: requiredText(value['sha1'], `${where}.sha1`),
    blobId: requiredText(value['blobstore_id'], `${where}.blobstore_id`),
  };
}

function parseJobs(job: unknown): readonly JobSpec[] {
  const templates = isObject(job) ? job['templates'] : undefined;
  if (templates === undefined || templates === null) return [];
  if (!Array.isArray(templates)) throw invalid('job.templates is not a list');
  return templates.map((template, index) => {
    const where = `job.templates[${index}]`;
    if (!isObject(template)) throw invalid(`${where} is not an object`);
    return {
      name: parsePathElement(template['name'], `${where}.name`),
      version: requiredText(template['version'], `${where}.version`),
    };
  });
}

function parseRenderedTemplates(value: unknown): ApplySpec['renderedTemplates'] {
  if (!isObject(value)) return undefined;
  const blobId = optionalString(value['blobstore_id']);
  const digest = optionalString(value['sha1']);
  return blobId === '' || digest === '' ? undefined : { blobId, digest };
}

function requiredText(value: unknown, where: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw invalid(`${where} is not a text`);
}

function optionalString(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function invalid(cause: string): ProductError {
  return new ProductError('AGENT_ARGUMENT_INVALID', `the apply spec cannot be used: ${cause}`);
}

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
