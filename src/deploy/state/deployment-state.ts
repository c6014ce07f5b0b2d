import { fromJson, toJson } from '../../bosh/yaml/exact-json.ts';
import { ProductError } from '../../errors/product-error.ts';
import { Field } from '../../platform/field.ts';
import type { JsonObject } from '../../platform/json.ts';
import { parsePathSegment, segmentProblem, type PathSegment } from '../../platform/path-segment.ts';

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
  const invalid = (key: string, problem: string, cause?: unknown): ProductError =>
    new ProductError(
      'STATE_INVALID',
      `Deployment state file '${path}'${key === '' ? '' : `: ${key}`} ${problem}; restore it from a backup, or move it and run 'bosh-kubernetes state restore MANIFEST', which writes it from the VM and the disk`,
      cause === undefined ? {} : { cause },
    );
  const root = new Field(
    parseJson(text, (cause) => invalid('', 'is not JSON', cause)),
    '',
    invalid,
  );
  if (!root.isPresent) throw root.error('must be an object');
  return {
    ...root.record(),
    director_id: readText(root.get('director_id')),
    installation_id: readSegment(root.get('installation_id')),
    current_vm_cid: readText(root.get('current_vm_cid')),
    ...(Object.hasOwn(root.record(), 'current_agent_id') && {
      current_agent_id: readText(root.get('current_agent_id')),
    }),
    current_stemcell_id: readText(root.get('current_stemcell_id')),
    current_disk_id: readText(root.get('current_disk_id')),
    current_release_ids: root
      .get('current_release_ids')
      .list()
      .map((id) => id.string()),
    current_manifest_sha: readText(root.get('current_manifest_sha')),
    disks: root.get('disks').list().map(readDisk),
    stemcells: root.get('stemcells').list().map(readStemcell),
    releases: root.get('releases').list().map(readRelease),
  };
}

/** Returns the text that bosh itself would write: indented by four spaces, without a newline at the end. */
export function formatState(state: DeploymentState): string {
  return toJson(state, 4);
}

const readText = (field: Field): string => field.optional()?.string() ?? '';

function readSegment(field: Field): PathSegment | '' {
  const text = readText(field);
  const segment = parsePathSegment(text);
  if (segment === undefined && text !== '') throw field.error(segmentProblem(text));
  return segment ?? '';
}

const readDisk = (disk: Field): DiskRecord => ({
  ...disk.record(),
  id: disk.get('id').string(),
  cid: disk.get('cid').string(),
  // A size of 0 would make the deployer migrate the disk, so null is not read as 0.
  size: Object.hasOwn(disk.record(), 'size') ? disk.get('size').integer() : 0,
  cloud_properties: disk.get('cloud_properties').record(),
});

function readStemcell(stemcell: Field): StemcellRecord {
  return {
    ...readRelease(stemcell),
    cid: stemcell.get('cid').string(),
    ...(Object.hasOwn(stemcell.record(), 'image') && { image: stemcell.get('image').string() }),
  };
}

const readRelease = (release: Field): ReleaseRecord => ({
  ...release.record(),
  id: release.get('id').string(),
  name: release.get('name').string(),
  version: release.get('version').string(),
});

function parseJson(text: string, invalid: (cause: unknown) => ProductError): unknown {
  try {
    return fromJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw invalid(error);
    throw error;
  }
}
