import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { toJson } from '../../bosh/yaml/exact-json.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Field } from '../../platform/field.ts';
import { readOwnJson } from '../../platform/read-own-json.ts';
import { removeDurably, writeDurably } from '../durable-file.ts';
import { callLogPathFor } from './call-log.ts';
import type { DeploymentState } from './deployment-state.ts';
import { KnownResources } from './known-resources.ts';
import { pendingPathFor, readPending } from './pending-file.ts';
import {
  describeCluster,
  parseRecordedCluster,
  isSameCluster,
  type ClusterIdentity,
  type RecordedCluster,
} from './recorded-cluster.ts';
import { readState, statePathFor } from './state-file.ts';

type Properties = Readonly<Record<string, unknown>>;

/** The CPI configuration that was last used successfully with the deployment's resources. */
interface RecordedCpi {
  /** The same field as in RecordedCluster. */
  readonly installation_id: string;
  /** HMAC of cloud_provider.properties, which contain secrets. The key is the id. */
  readonly properties_hmac: string;
}

/** Two digests of an interpolated manifest, both SHA-512 in hex. */
export interface ManifestDigests {
  /** Digest of the whole manifest, as the bosh CLI records it in the state file. */
  readonly sha512: string;
  /** Digest of the manifest without the CPI's credentials. */
  readonly sha512WithoutCredentials: string;
}

/**
 * The files of one deployment on this machine: the state file in bosh's format, and the deployer's files
 * beside it, for which that format has no keys. These are the pending file (PendingFile) and the records of
 * the cluster, of the CPI's configuration and of the manifest's digests. A deployment of the bosh CLI has
 * none of them; each may be missing or belong to an earlier state file. Reading changes nothing. The methods
 * need no lock; a run that has the lock changes state and pending requests through StateFile and PendingFile.
 */
export class DeploymentFiles {
  readonly statePath: string;
  readonly clusterPath: string;
  readonly #cpiPath: string;
  readonly #digestsPath: string;

  constructor(statePath: string) {
    this.statePath = statePath;
    this.clusterPath = `${statePath}.cluster`;
    this.#cpiPath = `${statePath}.cpi`;
    this.#digestsPath = `${statePath}.digest`;
  }

  /** Returns the files of a manifest's deployment. `statePath` is the value of `--state`. */
  static async find(manifestPath: string, statePath?: string): Promise<DeploymentFiles> {
    return new DeploymentFiles(resolve(await statePathFor(manifestPath, statePath)));
  }

  /**
   * The paths of all files but the record of the CPI calls, which stays, for a message to an operator who
   * removes the files.
   */
  get paths(): readonly string[] {
    return [
      this.statePath,
      ...[this.clusterPath, this.#cpiPath, this.#digestsPath],
      pendingPathFor(this.statePath),
    ];
  }

  /** True if a deployment is recorded, or if a `destroy` of its cluster has not finished. */
  get exist(): boolean {
    return existsSync(this.statePath) || existsSync(this.clusterPath);
  }

  /** True if any of the files exists, also without a recorded deployment. */
  get haveAny(): boolean {
    return [...this.paths, callLogPathFor(this.statePath)].some((path) => existsSync(path));
  }

  readState(): Promise<DeploymentState | undefined> {
    return readState(this.statePath);
  }

  /** Reads what the state file and the pending file record. Returns undefined if there is no deployment. */
  async readKnownResources(): Promise<KnownResources | undefined> {
    const [state, pending] = await Promise.all([this.readState(), readPending(this.statePath)]);
    return state === undefined ? undefined : new KnownResources(this.statePath, state, pending);
  }

  /** Returns the cluster of the deployment's VM and disks. */
  readCluster(): Promise<RecordedCluster | undefined> {
    const path = this.clusterPath;
    return readOwnJson(path, parseRecordedCluster, (problem, cause) =>
      invalidFile(
        path,
        'names the cluster of the deployment',
        problem,
        'you know that the cluster is the right one',
        cause,
      ),
    );
  }

  /** Writes the record if it differs from the existing one. */
  async recordCluster(cluster: RecordedCluster): Promise<void> {
    const text = `${JSON.stringify(cluster, null, 2)}\n`;
    const existing = await this.readCluster();
    if (existing !== undefined && `${JSON.stringify(existing, null, 2)}\n` === text) return;
    await writeDurably(this.clusterPath, text);
  }

  /**
   * Throws OTHER_CLUSTER if a deployment has a VM or a disk on another cluster than this one, because they
   * would be treated as missing and forgotten here. `undefined` stands for an embedded cluster that does not
   * exist. Passes if no cluster is recorded.
   */
  async assertOnCluster(cluster: ClusterIdentity | undefined): Promise<void> {
    const recorded = await this.readCluster();
    if (recorded === undefined || (cluster !== undefined && isSameCluster(recorded, cluster))) return;
    const state = await this.readState();
    if (state === undefined || state.installation_id !== recorded.installation_id) return;
    const known = await this.readKnownResources();
    if (known === undefined || known.isEmpty) return;
    const advice =
      recorded.being_destroyed === true
        ? "A 'destroy' of that cluster was interrupted: run it again"
        : this.otherClusterAdvice;
    const here =
      cluster === undefined ? 'there is no embedded cluster here' : `this is ${describeCluster(cluster)}`;
    throw new ProductError(
      'OTHER_CLUSTER',
      `${known.describe()} on ${describeCluster(recorded)}, and ${here}; nothing was changed. ${advice}`,
    );
  }

  /** Tells an operator what to do about a deployment on another cluster. */
  get otherClusterAdvice(): string {
    return (
      'Go back to that cluster (BOSH_KUBERNETES_HOME names the folder of an embedded one), or deploy another VM here with ' +
      `--state and --vars-store of its own; if that cluster no longer exists, remove '${this.statePath}' and ` +
      `'${this.clusterPath}'`
    );
  }

  /**
   * Returns true if the CPI's configuration has changed since the deployment's resources were last seen, so
   * that the CPI may use another cluster or namespace. Returns false if no configuration is recorded.
   */
  async cpiConfigChanged({ installation_id: id }: DeploymentState, properties: Properties): Promise<boolean> {
    const path = this.#cpiPath;
    const recorded = await readOwnJson(path, parseRecordedCpi, (problem, cause) =>
      invalidFile(
        path,
        'tells whether the CPI is configured as before',
        problem,
        'you know that it is',
        cause,
      ),
    );
    const current = cpiRecord(id, properties);
    return recorded?.installation_id === id && recorded.properties_hmac !== current.properties_hmac;
  }

  /** Must be called only after the CPI has found the deployment's resources with these properties. */
  async recordCpiConfig({ installation_id: id }: DeploymentState, properties: Properties): Promise<void> {
    await writeDurably(this.#cpiPath, `${JSON.stringify(cpiRecord(id, properties))}\n`);
  }

  /**
   * Returns the digest to compare with the state file. If the deployed manifest differs from this one only in
   * the CPI's credentials, this is the recorded digest. Otherwise it is the digest of this manifest, also if
   * no digests are recorded.
   */
  async matchingManifestDigest(
    { current_manifest_sha: deployed }: DeploymentState,
    { sha512, sha512WithoutCredentials }: ManifestDigests,
  ): Promise<string> {
    if (deployed === '' || deployed === sha512) return sha512;
    const path = this.#digestsPath;
    const recorded = await readOwnJson(path, parseManifestDigests, (problem, cause) =>
      invalidFile(path, 'tells whether only credentials have changed', problem, undefined, cause),
    );
    const differsInCredentials =
      recorded?.sha512 === deployed && recorded.sha512WithoutCredentials === sha512WithoutCredentials;
    return differsInCredentials ? deployed : sha512;
  }

  /**
   * Must be called before the state file records the manifest: if the run is killed in between, the digests
   * do not match the state file and are ignored.
   */
  async recordManifestDigests({ sha512, sha512WithoutCredentials }: ManifestDigests): Promise<void> {
    await writeDurably(this.#digestsPath, `${JSON.stringify({ sha512, sha512WithoutCredentials })}\n`);
  }

  /**
   * Removes all files but the records of the CPI calls. A run that is killed before the end can be
   * repeated.
   */
  async removeAll(): Promise<void> {
    await this.removeAllButCluster();
    await this.removeCluster();
  }

  /**
   * Removes the state file before the records that only explain it. The pending file names resources, too.
   */
  async removeAllButCluster(): Promise<void> {
    const records = [this.#cpiPath, this.#digestsPath];
    for (const path of [pendingPathFor(this.statePath), this.statePath, ...records])
      await removeDurably(path);
  }

  async removeCluster(): Promise<void> {
    await removeDurably(this.clusterPath);
  }

  /** Removes the records of the CPI calls. `removeAll` keeps them: they show how the deletion went. */
  async removeCallLog(): Promise<void> {
    await removeDurably(callLogPathFor(this.statePath));
  }
}

function cpiRecord(installationId: string, properties: Properties): RecordedCpi {
  const hmac = createHmac('sha256', installationId).update(toJson(properties)).digest('hex');
  return { installation_id: installationId, properties_hmac: hmac };
}

const parseRecordedCpi = (file: Field): RecordedCpi => ({
  installation_id: file.get('installation_id').string(),
  properties_hmac: file.get('properties_hmac').string(),
});

const parseManifestDigests = (file: Field): ManifestDigests => ({
  sha512: file.get('sha512').string(),
  sha512WithoutCredentials: file.get('sha512WithoutCredentials').string(),
});

/**
 * `condition` is the condition under which the operator may remove the file. If undefined, it may always be
 * removed.
 */
function invalidFile(
  path: string,
  purpose: string,
  problem: string,
  condition: string | undefined,
  cause: unknown,
): ProductError {
  return new ProductError(
    'STATE_INVALID',
    `File '${path}', which ${purpose}, is not what the deployer wrote: ${problem}; remove it${condition === undefined ? '' : ` if ${condition}`}`,
    { cause },
  );
}
