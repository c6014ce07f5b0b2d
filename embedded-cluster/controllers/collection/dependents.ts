import type { KubernetesObject } from '../../../src/kubernetes/object.ts';

/** Dependents by the uids of their owners, whether the owners exist or not. */
export class Dependents {
  readonly #byOwner = new Map<string, Set<string>>();

  /** Applies one change of the object that `reference` names. */
  update(reference: string, before: KubernetesObject | undefined, after: KubernetesObject | undefined): void {
    for (const uid of ownerUids(before)) {
      const known = this.#byOwner.get(uid);
      known?.delete(reference);
      if (known?.size === 0) {
        this.#byOwner.delete(uid);
      }
    }
    for (const uid of ownerUids(after)) {
      const known = this.#byOwner.get(uid) ?? new Set();
      this.#byOwner.set(uid, known.add(reference));
    }
  }

  dependentsOf(ownerUid: string): string[] {
    return [...(this.#byOwner.get(ownerUid) ?? [])];
  }
}

function ownerUids(object: KubernetesObject | undefined): string[] {
  return (object?.metadata.ownerReferences ?? []).map(({ uid }) => uid);
}
