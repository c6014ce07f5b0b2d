import type { DeploymentState } from './state/deployment-state.ts';
import { currentStemcell } from './state/state-changes.ts';

interface NameAndVersion {
  readonly name: string;
  readonly version: string;
}

export interface Target {
  readonly manifestSha: string;
  readonly stemcell: NameAndVersion;
  readonly releases: readonly NameAndVersion[];
}

/** True when the last deploy ended well and was of the same manifest, stemcell and releases (bosh-cli deployment/record.go). */
export function isDeployed(state: DeploymentState, { manifestSha, stemcell, releases }: Target): boolean {
  const deployed = currentStemcell(state);
  return (
    state.current_manifest_sha === manifestSha &&
    deployed !== undefined &&
    isSame(deployed, stemcell) &&
    state.releases.length > 0 &&
    state.releases.length === releases.length &&
    releases.every((release) => state.releases.some((record) => isSame(record, release)))
  );
}

function isSame(one: NameAndVersion, other: NameAndVersion): boolean {
  return one.name === other.name && one.version === other.version;
}
