import type { DeploymentState } from './state/deployment-state.ts';
import { currentStemcell } from './state/state-changes.ts';
import { isSameStemcell, type StemcellIdentity } from './stemcell/upload-stemcell.ts';

interface NameAndVersion {
  readonly name: string;
  readonly version: string;
}

export interface DeployTarget {
  readonly manifestSha: string;
  readonly stemcell: StemcellIdentity;
  readonly releases: readonly NameAndVersion[];
}

/**
 * Returns true if the last deploy succeeded with the same manifest, stemcell and releases (bosh-cli
 * deployment/record.go, which compares only name and version of the stemcell).
 */
export function isDeployed(
  state: DeploymentState,
  { manifestSha, stemcell, releases }: DeployTarget,
): boolean {
  const deployed = currentStemcell(state);
  return (
    state.current_manifest_sha === manifestSha &&
    deployed !== undefined &&
    isSameStemcell(deployed, stemcell) &&
    state.releases.length > 0 &&
    state.releases.length === releases.length &&
    releases.every((release) => state.releases.some((record) => isSame(record, release)))
  );
}

function isSame(one: NameAndVersion, other: NameAndVersion): boolean {
  return one.name === other.name && one.version === other.version;
}
