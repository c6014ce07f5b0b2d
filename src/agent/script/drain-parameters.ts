import { ProductError } from '../../errors/product-error.ts';
import type { ApplySpec } from '../spec/apply-spec.ts';

/** The arguments and the environment of a drain script (bosh-agent: agent/script/drain/script_params.go). */
export interface DrainParameters {
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Returns the parameters for a drain of type `shutdown` or `update`. `update` needs the new spec. */
export function drainParameters(
  type: string,
  current: ApplySpec,
  next: ApplySpec | undefined,
): DrainParameters {
  const environment = {
    BOSH_JOB_STATE: publicState(current),
    ...(next === undefined ? {} : { BOSH_JOB_NEXT_STATE: publicState(next) }),
  };
  switch (type) {
    case 'shutdown':
      return { arguments: ['job_shutdown', 'hash_unchanged'], environment };
    case 'update':
      if (next === undefined) throw invalid('Drain update requires new spec');
      return { arguments: updateArguments(current, next), environment };
    case 'status':
      throw invalid("Unexpected call with drain type 'status'");
    default:
      throw invalid(`drain type '${type}' is neither shutdown nor update`);
  }
}

/**
 * Returns the parameters for a script that is run again (bosh-agent: agent/script/drain/script_params.go,
 * NewStatusParams).
 */
export function dynamicDrainParameters({ environment }: DrainParameters): DrainParameters {
  return { arguments: ['job_check_status', 'hash_unchanged'], environment };
}

function updateArguments(current: ApplySpec, next: ApplySpec): readonly string[] {
  const digests = new Map(current.packages.map((entry) => [entry.name, entry.digest]));
  const updated = next.packages.filter((entry) => digests.get(entry.name) !== entry.digest);
  return [
    current.jobs.length === 0 ? 'job_new' : 'job_changed',
    hashChange(current.configurationHash, next.configurationHash),
    ...updated.map((entry) => entry.name).toSorted(),
  ];
}

function hashChange(current: string, next: string): string {
  if (current === '') return 'hash_new';
  return current === next ? 'hash_unchanged' : 'hash_changed';
}

function publicState(spec: ApplySpec): string {
  return JSON.stringify({ persistent_disk: spec.persistentDisk });
}

function invalid(cause: string): ProductError {
  return new ProductError('AGENT_ARGUMENT_INVALID', cause);
}
