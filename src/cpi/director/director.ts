/** A group as create_vm's env names it: in lower case, with `-` for `_`, as the director makes it canonical. */
export interface GroupNames {
  readonly deployment: string;
  readonly instanceGroup: string;
}

/** `undecided`: the manifest has a variable where the answer would be. */
export type Lifecycle = 'service' | 'errand' | 'undecided';

/**
 * Port: the director that makes the calls.
 *
 * Adapters: `https-director.ts` and, for tests, `testing/fake-director.ts`; both pass `testing/director-conformance.ts`.
 */
export interface Director {
  /**
   * What the manifest of the last deploy that came to its end says of the group; `service` where it does not name the group.
   * Changes nothing. Rejects with DIRECTOR_UNREACHABLE, which time may mend, or with DIRECTOR_ERROR.
   */
  lifecycleOf(group: GroupNames): Promise<Lifecycle>;
}
