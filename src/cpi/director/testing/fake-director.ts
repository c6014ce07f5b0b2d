import type { Director, GroupNames, Lifecycle } from '../director.ts';

export interface FakeDirector extends Director {
  /** The groups that it was asked about, in order. */
  readonly asked: GroupNames[];
}

/** A director whose groups are services but for those named, `deployment/instance-group`. */
export function fakeDirector(others: Readonly<Record<string, Lifecycle>> = {}): FakeDirector {
  const asked: GroupNames[] = [];
  return {
    asked,
    lifecycleOf: async (group) => {
      asked.push(group);
      return others[`${group.deployment}/${group.instanceGroup}`] ?? 'service';
    },
  };
}
