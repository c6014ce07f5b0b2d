import { load, YAML11_SCHEMA } from 'js-yaml';
import { ProductError } from '../../errors/product-error.ts';
import { canonicalName } from './canonical-name.ts';
import type { GroupNames, Lifecycle } from './director.ts';

/**
 * What a manifest, as `GET /deployments/NAME` has it, says of a group. Variables stand in it as they were written. Throws
 * DIRECTOR_ERROR, which quotes nothing: a manifest may hold secrets.
 *
 * `service` also without a manifest and where it does not name the group: the director stores the manifest at the end of
 * a deploy, and an errand's VM is made from the stored one (bosh-director: deployment_plan/stages/update_stage.rb,
 * jobs/run_errand.rb); a deploy itself makes VMs of services, and of errands that have one already
 * (deployment_plan/planner.rb, instance_groups_starting_on_deploy).
 */
export function lifecycleIn(manifest: string | null, { deployment, instanceGroup }: GroupNames): Lifecycle {
  const root = manifest === null ? {} : (parsed(manifest, deployment) ?? {});
  if (!isRecord(root)) throw unreadable(deployment);
  const { instance_groups: ofToday, jobs: ofOlder } = root;
  const groups = ofToday ?? ofOlder ?? [];
  if (!Array.isArray(groups)) return 'undecided';
  let isUnnamedThere = false;
  for (const group of groups as readonly unknown[]) {
    const { name, lifecycle }: Readonly<Record<string, unknown>> = isRecord(group) ? group : {};
    if (!isName(name)) isUnnamedThere = true;
    // no two groups of a deployment have the same canonical name (planner.rb, add_instance_group)
    else if (canonicalName(String(name)) === instanceGroup) return lifecycleOfGroup(lifecycle);
  }
  return isUnnamedThere ? 'undecided' : 'service';
}

/** The director's own default (deployment_plan/instance_group.rb). */
function lifecycleOfGroup(value: unknown): Lifecycle {
  if (value === undefined || value === 'service') return 'service';
  return value === 'errand' ? 'errand' : 'undecided';
}

/** The director takes a number for a text. */
const isName = (value: unknown): value is string | number =>
  typeof value === 'number' || (typeof value === 'string' && !value.includes('(('));

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** As Ruby reads it: merge keys count, and of a key that is there twice the latter. */
function parsed(manifest: string, deployment: string): unknown {
  try {
    return load(manifest, { schema: YAML11_SCHEMA, json: true });
  } catch {
    // the parser's own message quotes the text
    throw unreadable(deployment);
  }
}

const unreadable = (deployment: string): ProductError =>
  new ProductError(
    'DIRECTOR_ERROR',
    `the manifest of deployment '${deployment}' that the BOSH director stores cannot be read as YAML; look at it with bosh manifest`,
  );
