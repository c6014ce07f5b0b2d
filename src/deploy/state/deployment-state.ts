import { fromJson, toJson } from '../../bosh/yaml/exact-json.ts';
import { ProductError } from '../../errors/product-error.ts';
import { parsePathSegment, segmentProblem, type PathSegment } from '../../platform/path-segment.ts';

type JsonObject = Readonly<Record<string, unknown>>;

export interface DiskRecord extends JsonObject {
  readonly id: string;
  readonly cid: string;
  /** MiB. */
  readonly size: number;
  readonly cloud_properties: JsonObject;
}

export interface StemcellRecord extends JsonObject {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly api_version?: number;
  readonly cid: string;
  /**
   * Not in bosh's format: the image that a light stemcell named when it was uploaded. Absent if the bosh CLI
   * wrote the file.
   */
  readonly image?: string;
}

export interface ReleaseRecord extends JsonObject {
  readonly id: string;
  readonly name: string;
  readonly version: string;
}

/**
 * The state file of bosh create-env, key by key (bosh-cli config/deployment_state_service.go). Unknown keys
 * are kept.
 */
export interface DeploymentState extends JsonObject {
  readonly director_id: string;
  /** The name of the installed CPI's directory. It is empty only in a new state. */
  readonly installation_id: PathSegment | '';
  readonly current_vm_cid: string;
  /**
   * Not in bosh's format: the agent id of the current VM. Absent if the bosh CLI wrote the file, because it
   * drops unknown keys.
   */
  readonly current_agent_id?: string;
  readonly current_stemcell_id: string;
  readonly current_disk_id: string;
  readonly current_release_ids: readonly string[];
  /** SHA-512 of the interpolated manifest. Empty during a deploy and after a failed one. */
  readonly current_manifest_sha: string;
  readonly disks: readonly DiskRecord[];
  readonly stemcells: readonly StemcellRecord[];
  readonly releases: readonly ReleaseRecord[];
}

export const emptyState: DeploymentState = {
  director_id: '',
  installation_id: '',
  current_vm_cid: '',
  current_stemcell_id: '',
  current_disk_id: '',
  current_release_ids: [],
  current_manifest_sha: '',
  disks: [],
  stemcells: [],
  releases: [],
};

/**
 * Parses the text of a state file. Keys may be absent or null, as Go writes them. Errors are STATE_INVALID
 * and name the key.
 */
export function parseState(text: string, path: string): DeploymentState {
  const invalid = (what: string, cause?: unknown): ProductError =>
    new ProductError(
      'STATE_INVALID',
      `Deployment state file '${path}' ${what}; restore it from a backup, because only this file names the VM and the disk`,
      cause === undefined ? {} : { cause },
    );
  const document = parseJson(text, invalid);
  if (!isObject(document)) throw invalid('is not a JSON object');
  const reader = new FieldReader(document, invalid);
  return {
    ...document,
    director_id: reader.text('director_id'),
    installation_id: reader.segment('installation_id'),
    current_vm_cid: reader.text('current_vm_cid'),
    ...(document['current_agent_id'] === undefined
      ? {}
      : { current_agent_id: reader.text('current_agent_id') }),
    current_stemcell_id: reader.text('current_stemcell_id'),
    current_disk_id: reader.text('current_disk_id'),
    current_release_ids: reader.list('current_release_ids', (entry) => typeof entry === 'string'),
    current_manifest_sha: reader.text('current_manifest_sha'),
    disks: reader.list('disks', isRecord(['id', 'cid'])).map((disk) => readDisk(disk, invalid)),
    stemcells: reader.list('stemcells', isStemcell),
    releases: reader.list('releases', isRecord(['id', 'name', 'version'])) as ReleaseRecord[],
  };
}

/** Returns the text that bosh itself would write: indented by four spaces, without a newline at the end. */
export function formatState(state: DeploymentState): string {
  return toJson(state, 4);
}

class FieldReader {
  readonly #document: JsonObject;
  readonly #invalid: (what: string) => ProductError;

  constructor(document: JsonObject, invalid: (what: string) => ProductError) {
    this.#document = document;
    this.#invalid = invalid;
  }

  text(key: string): string {
    const value = this.#document[key] ?? '';
    if (typeof value !== 'string') throw this.#invalid(`has a '${key}' that is not a string`);
    return value;
  }

  segment(key: string): PathSegment | '' {
    const text = this.text(key);
    const segment = parsePathSegment(text);
    if (segment === undefined && text !== '')
      throw this.#invalid(`has a '${key}' that ${segmentProblem(text)}`);
    return segment ?? '';
  }

  list<T>(key: string, accepts: (entry: unknown) => entry is T): T[] {
    const value = this.#document[key] ?? [];
    if (!Array.isArray(value)) throw this.#invalid(`has a '${key}' that is not a list`);
    const wrong = value.findIndex((entry) => !accepts(entry));
    if (wrong >= 0) throw this.#invalid(`has a '${key}[${wrong}]' that is incomplete or has the wrong shape`);
    return value as T[];
  }
}

function readDisk(record: JsonObject, invalid: (what: string) => ProductError): DiskRecord {
  const { size = 0, cloud_properties: properties } = record;
  if (typeof size !== 'number')
    throw invalid(`has a disk '${String(record['cid'])}' whose 'size' is not a number`);
  return { ...record, size, cloud_properties: isObject(properties) ? properties : {} } as DiskRecord;
}

function isStemcell(entry: unknown): entry is StemcellRecord {
  if (!isRecord(['id', 'cid', 'name', 'version'])(entry)) return false;
  const { image } = entry;
  return image === undefined || typeof image === 'string';
}

function isRecord(keys: readonly string[]): (entry: unknown) => entry is JsonObject {
  return (entry): entry is JsonObject =>
    isObject(entry) && keys.every((key) => typeof entry[key] === 'string');
}

function parseJson(text: string, invalid: (what: string, cause?: unknown) => ProductError): unknown {
  try {
    return fromJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw invalid('is not JSON', error);
    throw error;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
