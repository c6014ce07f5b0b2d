import { label } from '../cpi/objects/labels.ts';
import { type BoshName, boshNameOf } from './bosh-name.ts';
import { isKind, labelOf, recordOf } from './managed-objects.ts';
import type { ObjectLists } from './object-lists.ts';

/** The name of an object that create-env or a director has described, by their director id. */
export type Owners = ReadonlyMap<string | undefined, BoshName>;

export function findOwners({ vmPods, vmSecrets, claims }: ObjectLists): Owners {
  const records = (vmSecrets ?? []).flatMap((secret) => recordOf(secret) ?? []);
  const objects = [...(vmPods ?? []).filter(isKind('vm')), ...records, ...(claims ?? [])];
  return new Map(
    objects.flatMap((object) => {
      const id = labelOf(object, label.directorId);
      const name = boshNameOf(object);
      return id === undefined || name.isOfCreateEnv === undefined ? [] : [[id, name] as const];
    }),
  );
}
